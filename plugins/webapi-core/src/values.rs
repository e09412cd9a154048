//! JSON values taken as they come: a number that is a number, a text that is a text, and anything else as nothing. A
//! client that words one field otherwise then costs us that field and not the list.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// Visitor methods for kinds of value that a lenient visitor ignores.
macro_rules! ignore {
    ($nothing:expr; $($kind:ident),*) => { $(ignore!(@ $kind, $nothing);)* };
    (@ bool, $nothing:expr) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ number, $nothing:expr) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ text, $nothing:expr) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ null, $nothing:expr) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ nested, $nothing:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
}

/// A number, if it was one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Num {
    #[default]
    Absent,
    Int(i64),
    /// Finite.
    Float(f64),
}

impl Num {
    pub(crate) fn is_absent(self) -> bool {
        self == Num::Absent
    }

    /// Whole and not negative; 0 for what is not.
    pub(crate) fn unsigned(self) -> u64 {
        self.non_negative().unwrap_or(0)
    }

    /// None for what is absent or negative.
    pub(crate) fn non_negative(self) -> Option<u64> {
        match self {
            Num::Int(n) => u64::try_from(n).ok(),
            Num::Float(x) if x >= 0.0 => Some(x as u64), // saturates
            _ => None,
        }
    }

    pub(crate) fn small(self) -> u32 {
        u32::try_from(self.unsigned()).unwrap_or(u32::MAX)
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            Num::Absent => 0.0,
            Num::Int(n) => n as f64,
            Num::Float(x) => x,
        }
    }

    /// 0..=1
    pub(crate) fn fraction(self) -> f64 {
        self.float().clamp(0.0, 1.0)
    }
}

struct NumVisitor;

impl<'de> Visitor<'de> for NumVisitor {
    type Value = Num;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Num, E> {
        Ok(Num::Int(n))
    }
    fn visit_u64<E: Error>(self, n: u64) -> Result<Num, E> {
        Ok(Num::Int(i64::try_from(n).unwrap_or(i64::MAX)))
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<Num, E> {
        Ok(if x.is_finite() { Num::Float(x) } else { Num::Absent })
    }
    ignore!(Num::Absent; bool, text, null, nested);
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumVisitor)
    }
}

/// A yes or no, if it was one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub Option<bool>);

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Flag;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a yes or no")
    }
    fn visit_bool<E: Error>(self, yes: bool) -> Result<Flag, E> {
        Ok(Flag(Some(yes)))
    }
    ignore!(Flag(None); number, text, null, nested);
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(FlagVisitor)
    }
}

/// A text, empty for what is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        TextSeed(|text: &str| text.to_owned())
            .deserialize(from)
            .map(|text| Text(text.unwrap_or_default()))
    }
}

impl Text {
    pub(crate) fn non_empty(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

/// Hands a text to a closure without making a `String` of it first.
pub(crate) struct TextSeed<F>(pub F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for TextSeed<F> {
    type Value = Option<T>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        from.deserialize_any(TextVisitor(self.0))
    }
}

struct TextVisitor<F>(F);

impl<'de, T, F: FnOnce(&str) -> T> Visitor<'de> for TextVisitor<F> {
    type Value = Option<T>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        Ok(Some((self.0)(text)))
    }
    ignore!(None; bool, number, null, nested);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_they_come() {
        let of = |json: &str| serde_json::from_str::<Num>(json).expect("any JSON value is fine");
        for (json, num) in [
            ("5", Num::Int(5)),
            ("-1", Num::Int(-1)),
            ("18446744073709551615", Num::Int(i64::MAX)),
            ("0.5", Num::Float(0.5)),
            ("null", Num::Absent),
            ("\"7\"", Num::Absent),
            ("true", Num::Absent),
            ("[1,[2]]", Num::Absent),
            ("{\"a\":{}}", Num::Absent),
        ] {
            assert_eq!(of(json), num, "{json}");
        }
        assert_eq!(Num::Int(-5).unsigned(), 0);
        assert_eq!(Num::Float(1e30).unsigned(), u64::MAX);
        assert_eq!(Num::Float(7.5).fraction().to_bits(), 1f64.to_bits());
        assert_eq!(Num::Int(i64::MAX).small(), u32::MAX);
    }
}
