//! Kinds of values in a request, and the rules that each kind has.

use syn::{GenericArgument, PathArguments, Type};

/// Kind of value in a request; each is a method of `qm_web::Fields`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Flag,
    Texts,
    Object,
    Any,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Text,
        Kind::Integer,
        Kind::Number,
        Kind::Flag,
        Kind::Texts,
        Kind::Object,
        Kind::Any,
    ];

    pub const fn method(self) -> &'static str {
        match self {
            Kind::Text => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Flag => "boolean",
            Kind::Texts => "strings",
            Kind::Object => "object",
            Kind::Any => "any",
        }
    }

    pub fn from_method(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|kind| kind.method() == name)
    }

    /// Names of the rules, which are methods of its reader, with the number of their arguments.
    const fn rules(self) -> &'static [(&'static str, usize)] {
        match self {
            Kind::Text => &[
                ("given", 0),
                ("min", 1),
                ("max", 1),
                ("len", 2),
                ("not_empty", 0),
                ("one_of", 1),
                ("email", 0),
                ("check", 2),
                ("about", 1),
            ],
            Kind::Integer => &[("min", 1), ("max", 1), ("one_of", 1)],
            Kind::Number => &[("min", 1), ("max", 1)],
            Kind::Texts => &[
                ("min_items", 1),
                ("max_items", 1),
                ("each_max", 1),
                ("each_one_of", 1),
            ],
            Kind::Flag | Kind::Object | Kind::Any => &[],
        }
    }

    /// Number of arguments of a rule; the error lists the rules there are.
    pub fn arity(self, rule: &str) -> Result<usize, String> {
        let found = self.rules().iter().find(|(name, _)| *name == rule);
        found.map(|(_, count)| *count).ok_or_else(|| {
            let names: Vec<String> = self.rules().iter().map(|(name, _)| format!("`{name}`")).collect();
            let method = self.method();
            if names.is_empty() {
                format!("unknown word `{rule}`: a field that is read by `{method}` has no rules")
            } else {
                let names = names.join(", ");
                format!("unknown word `{rule}`: the rules of a field that is read by `{method}` are {names}")
            }
        })
    }

    /// Kind of value that a type is read from, where the type tells.
    pub fn from_type(ty: &Type) -> Option<Self> {
        let name = last_name(ty)?;
        Some(match name.as_str() {
            "String" | "Secret" => Kind::Text,
            "bool" => Kind::Flag,
            "f64" => Kind::Number,
            "Value" => Kind::Any,
            "Map" => Kind::Object,
            "Vec" if argument(ty, "Vec").and_then(last_name).as_deref() == Some("String") => Kind::Texts,
            name if Whole::from_name(name).is_some() => Kind::Integer,
            _ => return None,
        })
    }
}

/// A type of whole numbers: the bounds that a number of a request has to keep to fit into it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    pub is_unsigned: bool,
    /// Its largest value is below that of `i64`.
    pub is_narrow: bool,
    /// Smallest and largest number of a request that fit.
    pub range: (i64, i64),
}

impl Whole {
    pub fn from_name(name: &str) -> Option<Self> {
        let range = match name {
            "i64" => (i64::MIN, i64::MAX),
            "i32" => (i32::MIN.into(), i32::MAX.into()),
            "i16" => (i16::MIN.into(), i16::MAX.into()),
            "i8" => (i8::MIN.into(), i8::MAX.into()),
            "u64" | "usize" => (0, i64::MAX),
            "u32" => (0, u32::MAX.into()),
            "u16" => (0, u16::MAX.into()),
            "u8" => (0, u8::MAX.into()),
            _ => return None,
        };
        Some(Self {
            is_unsigned: range.0 == 0,
            is_narrow: range.1 < i64::MAX,
            range,
        })
    }
}

/// Last name of a path: `String` of `std::string::String`.
pub fn last_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

/// `T` of `Option<T>`, where `outer` is `Option`.
pub fn argument<'t>(ty: &'t Type, outer: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == outer)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
