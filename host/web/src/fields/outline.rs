//! Declared shape of a body or query: its names and rules. Collected by the validation calls themselves, on
//! empty input, so that the API document cannot differ.

use serde_json::Value;

/// Type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Flag,
    /// A list of texts.
    Texts,
    Object,
    /// Any JSON value.
    Any,
}

/// A declared property.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// In characters; for a list, of each item.
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) min_items: Option<usize>,
    pub(crate) max_items: Option<usize>,
    /// Allowed values, or allowed items of a list.
    pub(crate) allowed: Vec<Value>,
    /// A format that JSON Schema knows.
    pub(crate) format: Option<&'static str>,
    /// Meaning of the property, where no declaration has a text.
    pub(crate) about: Option<&'static str>,
    /// Value of an absent property.
    pub(crate) default: Option<Value>,
}

impl Property {
    fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            required: false,
            min: None,
            max: None,
            min_length: None,
            max_length: None,
            min_items: None,
            max_items: None,
            allowed: Vec::new(),
            format: None,
            about: None,
            default: None,
        }
    }
}

/// All declarations of one body or query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub(crate) properties: Vec<Property>,
    /// Pairs of which one is required.
    pub(crate) either: Vec<[&'static str; 2]>,
    /// True when arbitrary names are accepted.
    pub(crate) open: bool,
}

impl Outline {
    /// Declares a property; a repeated read declares it once.
    pub(super) fn ask(&mut self, name: &'static str, kind: Kind) {
        if self.position(name).is_none() {
            self.properties.push(Property::new(name, kind));
        }
    }

    pub(super) fn tell(&mut self, name: &str, tell: impl FnOnce(&mut Property)) {
        if let Some(index) = self.position(name) {
            tell(&mut self.properties[index]);
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name)
    }
}
