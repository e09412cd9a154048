//! One field: its attribute, and the expression that reads it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprCall, Ident, Lit, Result, Type};

use crate::item::Item;
use crate::record::Source;
use crate::rules::{Kind, Whole, argument, last_name};

pub struct Field {
    /// Name in the request; empty where the field has none and needs none.
    name: String,
    span: Span,
    ty: Type,
    way: Way,
}

/// Way in which a field is read.
enum Way {
    Skip,
    Flatten,
    Page { default: Option<Expr>, most: Expr },
    With(Expr),
    Rules(Box<Rules>),
}

/// A value that is read by the rules of its kind.
struct Rules {
    kind: Kind,
    /// Calls of the reader's methods, in order.
    calls: Vec<TokenStream>,
    /// Conditions on the arguments of rules, checked when the reader is compiled.
    checks: Vec<TokenStream>,
    presence: Presence,
    convert: Convert,
    stand_in: Option<Expr>,
}

/// Treatment of a field that is not sent.
enum Presence {
    Required,
    Optional,
    /// `null` is told from absence.
    Nullable,
    Default(Fallback),
}

/// Value of a field that is not sent: of its type, or one that is named.
type Fallback = Option<Expr>;

enum Convert {
    None,
    Map(Expr),
    AndThen(Expr),
    /// The same where a rule lets only texts through that it converts.
    Word(Expr),
}

/// The words of one attribute, before they are put together.
#[derive(Default)]
struct Words {
    name: Option<String>,
    way: Option<Way>,
    kind: Option<Kind>,
    default: Option<Fallback>,
    is_trimmed: bool,
    convert: Option<Convert>,
    stand_in: Option<Expr>,
    /// Everything else, to be judged when the kind is known.
    rules: Vec<Item>,
}

impl Words {
    fn take(&mut self, mut item: Item) -> Result<()> {
        match item.name.to_string().as_str() {
            "name" => {
                let span = item.name.span();
                let [name] = item.take()?;
                let Expr::Lit(syn::ExprLit {
                    lit: Lit::Str(text), ..
                }) = name
                else {
                    return Err(Error::new(span, "`name` takes a text: `name = \"…\"`"));
                };
                self.name = Some(text.value());
            }
            "skip" => {
                item.take::<0>()?;
                self.way = Some(Way::Skip);
            }
            "flatten" => {
                item.take::<0>()?;
                self.way = Some(Way::Flatten);
            }
            "with" => {
                let [path] = item.take()?;
                self.way = Some(Way::With(path));
            }
            "page" if item.arguments.len() == 2 => {
                let [default, most] = item.take()?;
                self.way = Some(Way::Page {
                    default: Some(default),
                    most,
                });
            }
            "page" => {
                let [most] = item.take()?;
                self.way = Some(Way::Page { default: None, most });
            }
            "default" if item.arguments.is_empty() => self.default = Some(None),
            "default" => {
                let [value] = item.take()?;
                self.default = Some(Some(value));
            }
            "trim" => {
                item.take::<0>()?;
                self.is_trimmed = true;
            }
            "map" => {
                let [path] = item.take()?;
                self.convert = Some(Convert::Map(path));
            }
            "and_then" => {
                let [path] = item.take()?;
                self.convert = Some(Convert::AndThen(path));
            }
            "words" => {
                let span = item.name.span();
                let [names, path] = item.take()?;
                self.kind = Some(Kind::Text);
                self.convert = Some(Convert::Word(path));
                let (name, arguments) = (Ident::new("one_of", span), vec![names]);
                self.rules.push(Item { name, arguments });
            }
            "stand_in" => {
                let [value] = item.take()?;
                self.stand_in = Some(value);
            }
            other => match Kind::from_method(other) {
                Some(kind) => {
                    item.arguments.clear();
                    self.kind = Some(kind);
                }
                None => self.rules.push(item),
            },
        }
        Ok(())
    }
}

impl Words {
    /// True with a word that only a field which is read by rules obeys.
    fn shapes_a_value(&self) -> bool {
        self.kind.is_some()
            || self.default.is_some()
            || self.is_trimmed
            || self.convert.is_some()
            || self.stand_in.is_some()
    }
}

impl Field {
    pub fn read(field: &syn::Field) -> Result<Self> {
        let mut words = Words::default();
        for item in Item::all(&field.attrs, "field")? {
            words.take(item)?;
        }
        let own_name = field.ident.as_ref().map(|name| camel(&name.unraw().to_string()));
        let name = words.name.take().or(own_name).unwrap_or_default();
        let span = field.ident.as_ref().map_or_else(|| field.ty.span(), Ident::span);
        let way = match words.way.take() {
            Some(way) => {
                if let Some(rule) = words.rules.first() {
                    let text = format!("`{}` has no effect: the field isn't read by rules", rule.name);
                    return Err(Error::new(rule.name.span(), text));
                }
                if words.shapes_a_value() {
                    let text = "`default`, `trim`, `map`, `and_then`, `stand_in` and kinds have no effect: the field isn't read by rules";
                    return Err(Error::new(span, text));
                }
                way
            }
            None => Way::Rules(Box::new(Rules::read(&field.ty, words)?)),
        };
        if name.is_empty() && matches!(way, Way::Rules(_) | Way::With(_)) {
            return Err(Error::new(span, "a field without a name needs `name = \"…\"`"));
        }
        Ok(Self {
            name,
            span,
            ty: field.ty.clone(),
            way,
        })
    }

    /// The expression that reads it from `f`.
    pub fn value(&self, source: Source) -> TokenStream {
        let (name, ty) = (&self.name, &self.ty);
        match &self.way {
            Way::Skip => quote!(<#ty as ::core::default::Default>::default()),
            Way::Flatten => {
                let call = source.call();
                quote!(#call(f))
            }
            Way::Page { default: None, most } => quote!(f.page(#most)),
            Way::Page {
                default: Some(default),
                most,
            } => quote!(f.page_or(#default, #most)),
            Way::With(Expr::Call(ExprCall { func, args, .. })) => {
                let more = args.iter();
                quote!(#func(f, #name #(, #more)*))
            }
            Way::With(path) => quote!(#path(f, #name)),
            Way::Rules(rules) => rules.value(name, ty, self.span),
        }
    }
}

impl Rules {
    fn read(ty: &Type, words: Words) -> Result<Self> {
        let inner = innermost(ty);
        let Some(kind) = words.kind.or_else(|| Kind::from_type(inner)) else {
            return Err(Error::new_spanned(ty, no_reader(inner)));
        };
        let presence = match (argument(ty, "Option"), words.default) {
            (Some(_), Some(_)) => {
                let text = "a field with a `default` is never absent: take the `Option` off its type";
                return Err(Error::new_spanned(ty, text));
            }
            (Some(once), None) if argument(once, "Option").is_some() => Presence::Nullable,
            (Some(_), None) => Presence::Optional,
            (None, Some(default)) => Presence::Default(default),
            (None, None) => Presence::Required,
        };
        let convert = words.convert.unwrap_or(Convert::None);
        let is_required = matches!(presence, Presence::Required);
        if is_required && matches!(convert, Convert::AndThen(_)) {
            let text = "`and_then` may leave a required field without a value: make it an `Option`, add a `default`, or convert by `map`";
            return Err(Error::new_spanned(ty, text));
        }
        if words.stand_in.is_some() && !(is_required && matches!(convert, Convert::Word(_))) {
            let text = "`stand_in` is for a required field that is read by `words`";
            return Err(Error::new_spanned(ty, text));
        }
        let mut names = Vec::with_capacity(words.rules.len());
        let mut rules = Vec::with_capacity(words.rules.len() + 2);
        let mut checks = Vec::new();
        for item in words.rules {
            let name = item.name.clone();
            let count = kind
                .arity(&name.to_string())
                .map_err(|text| Error::new(name.span(), text))?;
            let arguments = item.take_count(count)?;
            if matches!(convert, Convert::None) {
                checks.extend(fitting(inner, &name, &arguments));
            }
            rules.push(quote!(.#name(#(#arguments),*)));
            names.push(name.to_string());
        }
        if kind == Kind::Integer {
            bound(inner, &names, &mut rules);
        }
        if words.is_trimmed && kind != Kind::Text {
            return Err(Error::new_spanned(ty, "`trim` is for texts"));
        }
        if words.is_trimmed {
            rules.insert(0, quote!(.trim()));
        }
        Ok(Self {
            kind,
            calls: rules,
            checks,
            presence,
            convert,
            stand_in: words.stand_in,
        })
    }

    fn value(&self, name: &str, ty: &Type, span: Span) -> TokenStream {
        let (value, checks) = (self.unchecked_value(name, ty, span), &self.checks);
        if checks.is_empty() {
            return value;
        }
        quote!({
            #(#checks)*
            #value
        })
    }

    fn unchecked_value(&self, name: &str, ty: &Type, span: Span) -> TokenStream {
        let method = Ident::new(self.kind.method(), span);
        let rules = &self.calls;
        let read = quote!(f.#method(#name));
        let convert = self.conversion(innermost(ty));
        match &self.presence {
            Presence::Required => {
                let value = quote!(#read.required() #(#rules)* .get());
                match (&convert, &self.stand_in) {
                    (None, _) => value,
                    (Some(convert), None) => {
                        quote!(::core::option::Option::Some(#value) #convert .unwrap_or_default())
                    }
                    // Never seen: a body whose word is another one is refused.
                    (Some(convert), Some(value_else)) => {
                        quote!(::core::option::Option::Some(#value) #convert .unwrap_or(#value_else))
                    }
                }
            }
            Presence::Optional => quote!(#read #(#rules)* .optional() #convert),
            Presence::Nullable => quote! {{
                let value = #read #(#rules)* .optional() #convert;
                match value {
                    ::core::option::Option::None if f.is_null(#name) => {
                        ::core::option::Option::Some(::core::option::Option::None)
                    }
                    value => value.map(::core::option::Option::Some),
                }
            }},
            Presence::Default(default) => {
                // The document tells the default of a boolean and of a whole number.
                let is_told = convert.is_none() && matches!(self.kind, Kind::Flag | Kind::Integer);
                match default {
                    None if is_told => quote!(#read #(#rules)* .or(::core::default::Default::default())),
                    Some(value) if is_told => quote!(#read #(#rules)* .or(#value)),
                    None => quote!(#read #(#rules)* .optional() #convert .unwrap_or_default()),
                    Some(value) => quote!(#read #(#rules)* .optional() #convert .unwrap_or_else(|| #value)),
                }
            }
        }
    }

    /// Calls on the `Option` that was read, which give an `Option` of the field's type.
    fn conversion(&self, inner: &Type) -> Option<TokenStream> {
        let name = last_name(inner).unwrap_or_default();
        // A text is converted from `&str`.
        let borrowed = (self.kind == Kind::Text).then(|| quote!(.as_deref()));
        match &self.convert {
            Convert::Map(path) => Some(quote!(#borrowed.map(#path))),
            Convert::AndThen(path) | Convert::Word(path) => Some(quote!(#borrowed.and_then(#path))),
            Convert::None if name == "Secret" => Some(quote!(.map(<#inner>::new))),
            Convert::None if self.kind == Kind::Integer && name != "i64" => {
                Some(quote!(.and_then(|number| <#inner>::try_from(number).ok())))
            }
            Convert::None => None,
        }
    }
}

/// Conditions that a rule's numbers fit into the type of the field: others would pass the rule and be lost after it.
fn fitting(inner: &Type, rule: &Ident, arguments: &[Expr]) -> Option<TokenStream> {
    let whole = last_name(inner).as_deref().and_then(Whole::from_name)?;
    if !(whole.is_unsigned || whole.is_narrow) {
        return None;
    }
    let (least, most) = whole.range;
    let text = format!("`{rule}` has numbers that don't fit into the type of the field");
    if rule == "one_of" {
        return Some(quote!(const _: () = {
            let mut allowed: &[i64] = #(#arguments)*;
            while let [first, rest @ ..] = allowed {
                ::core::assert!(#least <= *first && *first <= #most, #text);
                allowed = rest;
            }
        };));
    }
    Some(quote!(#(const _: () = {
        let bound: i64 = #arguments;
        ::core::assert!(#least <= bound && bound <= #most, #text);
    };)*))
}

/// Adds the bounds of a type of whole numbers where no rule names them: a number beyond them is refused, not cut.
fn bound(inner: &Type, names: &[String], rules: &mut Vec<TokenStream>) {
    let Some(whole) = last_name(inner).as_deref().and_then(Whole::from_name) else {
        return;
    };
    let has = |rule: &str| names.iter().any(|name| name == rule || name == "one_of");
    if !has("min") && whole.is_unsigned {
        rules.insert(0, quote!(.min(0)));
    } else if !has("min") && whole.is_narrow {
        rules.insert(0, quote!(.min(<#inner>::MIN.into())));
    }
    if !has("max") && whole.is_narrow {
        rules.push(quote!(.max(<#inner>::MAX.into())));
    }
}

/// `T` of `T`, `Option<T>` and `Option<Option<T>>`.
fn innermost(ty: &Type) -> &Type {
    argument(ty, "Option").map_or(ty, innermost)
}

fn no_reader(inner: &Type) -> String {
    let name = last_name(inner).unwrap_or_else(|| "this type".to_owned());
    if name == "PageQuery" {
        return "a page needs its largest size: `page = MAX`, or `page(DEFAULT, MAX)`".to_owned();
    }
    format!(
        "`{name}` doesn't say how it is sent: add `string` or another kind with a conversion, `words(NAMES, from_name)`, \
         `with = path`, `flatten` or `skip`"
    )
}

/// `page_size` as `pageSize`.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut is_start = false;
    for letter in name.chars() {
        match letter {
            '_' => is_start = true,
            letter if is_start => {
                camel.extend(letter.to_uppercase());
                is_start = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}
