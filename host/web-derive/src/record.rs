//! The whole reader of a struct.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Expr, Member, Result};

use crate::field::Field;
use crate::item::Item;

/// Trait that is written.
#[derive(Clone, Copy)]
pub enum Source {
    Body,
    Query,
}

impl Source {
    pub fn call(self) -> TokenStream {
        match self {
            Source::Body => quote!(::qm_web::FromBody::from_body),
            Source::Query => quote!(::qm_web::FromQuery::from_query),
        }
    }
}

/// Words of `#[fields(…)]`.
#[derive(Default)]
struct Words {
    is_optional: bool,
    is_open: bool,
    check: Option<Expr>,
}

impl Words {
    fn read(input: &DeriveInput, source: Source) -> Result<Self> {
        let mut words = Self::default();
        for item in Item::all(&input.attrs, "fields")? {
            match (item.name.to_string().as_str(), source) {
                ("optional", Source::Body) => {
                    item.take::<0>()?;
                    words.is_optional = true;
                }
                ("open", _) => {
                    item.take::<0>()?;
                    words.is_open = true;
                }
                ("check", _) => {
                    let [path] = item.take()?;
                    words.check = Some(path);
                }
                (name, _) => {
                    let text = format!(
                        "unknown word `{name}`: a struct has `optional` (a body only), `open` and `check = path`"
                    );
                    return Err(Error::new(item.name.span(), text));
                }
            }
        }
        Ok(words)
    }
}

/// The `impl` of the trait; every field that is wrong is told.
pub fn reader(input: &DeriveInput, source: Source) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let text = "only a struct is read field by field: an enum is a field's type, read by `words(NAMES, from_name)`";
        return Err(Error::new(input.ident.span(), text));
    };
    let words = Words::read(input, source)?;
    let mut values = Vec::with_capacity(data.fields.len());
    let mut wrong: Option<Error> = None;
    for (index, field) in data.fields.iter().enumerate() {
        let member = field.ident.clone().map_or_else(|| index.into(), Member::Named);
        match Field::read(field).map(|field| field.value(source)) {
            Ok(value) => values.push(quote!(#member: #value)),
            Err(error) => match &mut wrong {
                Some(all) => all.combine(error),
                None => wrong = Some(error),
            },
        }
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let name = &input.ident;
    let open = words.is_open.then(|| quote!(f.allow_unknown();));
    let check = words.check.map(|path| quote!(#path(&value, f);));
    let (signature, optional) = match source {
        Source::Body => {
            let optional = words.is_optional.then(|| {
                quote!(
                    const OPTIONAL: bool = true;
                )
            });
            (quote!(::qm_web::FromBody), optional)
        }
        Source::Query => (quote!(::qm_web::FromQuery), None),
    };
    let method = match source {
        Source::Body => quote!(from_body),
        Source::Query => quote!(from_query),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #generics #signature for #name #arguments #bounds {
            #optional

            fn #method(f: &mut ::qm_web::Fields<'_>) -> Self {
                #open
                let value = Self { #(#values),* };
                #check
                value
            }
        }
    })
}
