//! One word of an attribute with its arguments: `trim`, `max = 80`, `len(1, 80)`.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Result, Token, parenthesized};

pub struct Item {
    pub name: Ident,
    pub arguments: Vec<Expr>,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Ident = input.parse()?;
        let arguments = if input.parse::<Option<Token![=]>>()?.is_some() {
            vec![input.parse()?]
        } else if input.peek(syn::token::Paren) {
            let inner;
            parenthesized!(inner in input);
            let list = Punctuated::<Expr, Token![,]>::parse_terminated(&inner)?;
            list.into_iter().collect()
        } else {
            Vec::new()
        };
        Ok(Self { name, arguments })
    }
}

impl Item {
    /// All words of the attributes of one name, in order.
    pub fn all(attributes: &[Attribute], name: &str) -> Result<Vec<Self>> {
        let mut items = Vec::new();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident(name))
        {
            items.extend(attribute.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated)?);
        }
        Ok(items)
    }

    /// Refuses a wrong number of arguments.
    pub fn take<const COUNT: usize>(self) -> Result<[Expr; COUNT]> {
        let Self { name, arguments } = self;
        let text = match COUNT {
            0 => format!("`{name}` takes no value"),
            1 => format!("`{name}` takes one value: `{name} = …`"),
            _ => format!("`{name}` takes {COUNT} values: `{name}(…)`"),
        };
        arguments.try_into().map_err(|_| Error::new(name.span(), text))
    }

    /// The same where the number is known only when the rule is looked up.
    pub fn take_count(self, count: usize) -> Result<Vec<Expr>> {
        match count {
            0 => self.take::<0>().map(Vec::from),
            1 => self.take::<1>().map(Vec::from),
            _ => self.take::<2>().map(Vec::from),
        }
    }
}
