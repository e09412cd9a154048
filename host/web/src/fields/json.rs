//! JSON body without a tree: the top-level names, each with the slice of its value. A slice is parsed when a
//! rule asks for it, as the requested type; an unread slice is only checked to be JSON. Bounds: 1,024
//! properties, 65,536 items of a list, about 8 MiB for all trees of one body or one row, nesting of 128. So a
//! body costs a few times its own size, whatever it contains.

use std::borrow::Cow;
use std::fmt;

use qm_kernel::ErrorKind;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::error::ApiError;

/// Largest number of properties of a body, and of parameters of a query.
pub(crate) const MAX_PROPERTIES: usize = 1024;
/// Largest number of items of a list of texts or rows. Rules of the property limit it further.
pub(super) const MAX_ITEMS: usize = 65_536;

/// Largest memory of all trees of one body in bytes, as estimated below.
const TREES: usize = 8 * 1024 * 1024;
/// Size of a value in its list, which may have grown to twice its length.
const VALUE: usize = 64;
/// Size of an object's first node, which has room for eleven entries.
const OBJECT: usize = 720;

/// Top-level properties of a body, sorted by name.
pub(crate) struct Properties<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Properties<'a> {
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Refuses text that is no JSON or no object, and repeated or too many names.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, ApiError> {
        let malformed =
            |text: String| ApiError::new(ErrorKind::BadRequest, text).with_code("bad_request.json");
        serde_json::from_slice::<Checked>(bytes).map_err(|error| malformed(error.to_string()))?;
        let mut top = serde_json::Deserializer::from_slice(bytes)
            .deserialize_map(TopVisitor)
            .map_err(|_| malformed("The body must be a JSON object".to_owned()))?;
        if top.count > MAX_PROPERTIES {
            let text = format!(
                "The body has {} properties: send no more than {MAX_PROPERTIES}",
                top.count
            );
            return Err(malformed(text));
        }
        top.entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut twice: Vec<String> = top
            .entries
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| super::given_twice(&pair[0].0))
            .collect();
        twice.dedup();
        if twice.is_empty() {
            Ok(Self(top.entries))
        } else {
            Err(ApiError::validation(twice))
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let place = self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(self.0[place].1)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

/// Any value, parsed to its end and discarded. Slices of a body are not checked otherwise.
struct Checked;

impl<'de> serde::Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Checked)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Checked>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Checked, Checked>()?.is_some() {}
        Ok(self)
    }
}

struct Top<'a> {
    entries: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Number of all properties; those beyond the limit are not kept.
    count: usize,
}

struct TopVisitor;

impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top<'de>, A::Error> {
        let (mut entries, mut count) = (Vec::new(), 0);
        while count < MAX_PROPERTIES
            && let Some(name) = map.next_key_seed(NameSeed)?
        {
            entries.push((name, map.next_value()?));
            count += 1;
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Top { entries, count })
    }
}

/// A name, borrowed from the body unless it has escapes.
struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A value that is neither list nor object.
pub(super) enum Scalar {
    Flag(bool),
    Number(Number),
    Text(String),
}

/// `None` for another value, and for a malformed text or number.
pub(super) fn scalar(raw: &RawValue) -> Option<Scalar> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok().map(Scalar::Text),
        b't' => Some(Scalar::Flag(true)),
        b'f' => Some(Scalar::Flag(false)),
        b'-' | b'0'..=b'9' => serde_json::from_str(text).ok().map(Scalar::Number),
        _ => None,
    }
}

/// Result of reading a list of texts.
pub(super) enum Texts {
    List(Vec<String>),
    TooMany,
    /// An item is no text.
    OtherItems,
    /// A text in place of a list.
    LoneText,
    NoList,
}

pub(super) fn texts(raw: &RawValue) -> Texts {
    match raw.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str::<Items>(raw.get()).map_or(Texts::OtherItems, |items| items.0),
        Some(b'"') => Texts::LoneText,
        _ => Texts::NoList,
    }
}

struct Items(Texts);

impl<'de> serde::Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ItemsVisitor)
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// Items are coerced like every scalar.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
        let mut list = Vec::new();
        while let Some(raw) = seq.next_element::<&RawValue>()? {
            let text = match scalar(raw) {
                Some(Scalar::Text(text)) => text,
                Some(Scalar::Number(number)) => number.to_string(),
                Some(Scalar::Flag(_)) | None => return rest(seq, Texts::OtherItems),
            };
            if list.len() == MAX_ITEMS {
                return rest(seq, Texts::TooMany);
            }
            list.push(text);
        }
        Ok(Items(Texts::List(list)))
    }
}

/// Reads a list to its end, as the parser requires.
fn rest<'de, A: SeqAccess<'de>>(mut seq: A, found: Texts) -> Result<Items, A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(Items(found))
}

/// A long list whose items are parsed one at a time: it costs its own size once more, and one tree.
#[derive(Debug, Default)]
pub struct Rows(Vec<Box<RawValue>>);

impl Rows {
    /// Splits a list; `None` for another value. The error follows the name of the property.
    pub(super) fn cut(raw: &RawValue) -> Result<Option<Self>, String> {
        if !raw.get().starts_with('[') {
            return Ok(None);
        }
        let rows: CutRows = serde_json::from_str(raw.get()).map_err(|_| "must be valid JSON".to_owned())?;
        match rows.0 {
            Some(rows) => Ok(Some(Self(rows))),
            None => Err(format!("must contain no more than {MAX_ITEMS} elements")),
        }
    }

    /// Each row in turn, or its error, which follows the name of the row.
    pub fn read(&self) -> impl ExactSizeIterator<Item = Result<Value, &'static str>> + Send {
        self.0.iter().map(|raw| Trees::new().grow(raw))
    }

    /// Rows that are texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|raw| match scalar(raw) {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        })
    }
}

/// `None`: too many items.
struct CutRows(Option<Vec<Box<RawValue>>>);

impl<'de> serde::Deserialize<'de> for CutRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CutVisitor)
    }
}

struct CutVisitor;

impl<'de> Visitor<'de> for CutVisitor {
    type Value = CutRows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<CutRows, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = seq.next_element::<&RawValue>()? {
            if rows.len() == MAX_ITEMS {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(CutRows(None));
            }
            rows.push(row.to_owned());
        }
        Ok(CutRows(Some(rows)))
    }
}

/// Memory budget for the trees of one body, where it may hold any JSON.
pub(super) struct Trees {
    left: usize,
    fault: Option<&'static str>,
}

impl Trees {
    pub(super) const fn new() -> Self {
        Self {
            left: TREES,
            fault: None,
        }
    }

    /// Parses a tree. The error follows the name of the property.
    pub(super) fn grow(&mut self, raw: &RawValue) -> Result<Value, &'static str> {
        let mut input = serde_json::Deserializer::from_str(raw.get());
        let tree = Tree(self).deserialize(&mut input);
        tree.map_err(|_| self.fault.take().unwrap_or("must be valid JSON"))
    }

    fn spend<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => return Err(self.fail("holds too many values: send fewer")),
        }
        Ok(())
    }

    fn fail<E: Error>(&mut self, fault: &'static str) -> E {
        self.fault = Some(fault);
        E::custom(fault)
    }
}

struct Tree<'t>(&'t mut Trees);

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.0.spend(VALUE)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.0.spend(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(Tree(&mut *self.0))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.0.spend(OBJECT)?;
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            self.0.spend(VALUE + name.len())?;
            let value = map.next_value_seed(Tree(&mut *self.0))?;
            if object.insert(name, value).is_some() {
                return Err(self.0.fail("must not hold a name twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_tree_is_the_value_it_was_made_from() {
        for text in [
            "null",
            "true",
            "-5",
            "18446744073709551615",
            "1.5e3",
            r#""a\u00e4\n""#,
            r#"{"a":[1,{"b":null},[]],"":{}}"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Trees::new().grow(&raw(text)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_tree_ends_where_its_room_ends() {
        let mut trees = Trees::new();
        let some = raw(&format!("[{}0]", "{\"\":0},".repeat(5_000)));
        assert!(trees.grow(&some).is_ok());
        assert_eq!(
            trees.grow(&some).and_then(|_| trees.grow(&some)),
            Err("holds too many values: send fewer"),
            "the trees of one body share it"
        );
        let twice = raw(r#"{"a":{"b":1,"b":1}}"#);
        assert_eq!(Trees::new().grow(&twice), Err("must not hold a name twice"));
        let deep = raw(&("[".repeat(200) + &"]".repeat(200)));
        assert!(Trees::new().grow(&deep).is_err());
    }

    #[test]
    fn of_rows_each_has_the_room_of_a_tree() {
        let one = format!("[{}0]", "{\"\":0},".repeat(5_000));
        let many = raw(&format!("[{}{one}]", format!("{one},").repeat(40)));
        assert!(
            Trees::new().grow(&many).is_err(),
            "all of them together have none"
        );
        let rows = Rows::cut(&many).unwrap().unwrap();
        assert_eq!(rows.read().len(), 41);
        assert!(rows.read().all(|row| row.is_ok()));
        let told: Vec<_> = Rows::cut(&raw(r#"[{"a":1,"a":2}, null, "x"]"#))
            .unwrap()
            .unwrap()
            .read()
            .collect();
        assert_eq!(
            told,
            [Err("must not hold a name twice"), Ok(Value::Null), Ok("x".into())]
        );
        let mixed = Rows::cut(&raw(r#"["a", 1, null, {"b":"c"}, true, "\u0064"]"#));
        assert!(mixed.unwrap().unwrap().texts().eq(["a", "d"]));
        for other in ["{}", "7", "\"[]\"", "null"] {
            assert!(Rows::cut(&raw(other)).unwrap().is_none(), "{other}");
        }
        let crowd = |count: usize| Rows::cut(&raw(&format!("[{}0]", "0,".repeat(count - 1))));
        assert_eq!(crowd(MAX_ITEMS).unwrap().unwrap().read().len(), MAX_ITEMS);
        assert_eq!(
            crowd(MAX_ITEMS + 1).unwrap_err(),
            "must contain no more than 65536 elements"
        );
    }

    #[test]
    fn names_are_found_whatever_their_order_and_escapes() {
        let body = br#" {"z":1,"a\u0062":[2],"m": {"x":3}} "#;
        let top = Properties::read(body).unwrap();
        assert_eq!(top.names().collect::<Vec<_>>(), ["ab", "m", "z"]);
        assert_eq!(top.get("ab").map(RawValue::get), Some("[2]"));
        assert_eq!(top.get("m").map(RawValue::get), Some(r#"{"x":3}"#));
        assert!(top.get("x").is_none());
        let value: Value = top
            .entries()
            .map(|(name, raw)| (name, Trees::new().grow(raw).unwrap()))
            .collect();
        assert_eq!(value, json!({ "ab": [2], "m": { "x": 3 }, "z": 1 }));
    }
}
