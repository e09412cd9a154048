//! What a body or a query declares of itself: the names it asks for and the rules they have. Collected by the very calls
//! that validate, on an input that holds nothing, so that the API document cannot promise anything else.

use serde_json::Value;

/// The type that a property is asked for.
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

/// One name that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// In characters; of each item of a list.
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) min_items: Option<usize>,
    pub(crate) max_items: Option<usize>,
    /// The only values it may have, or the items of a list.
    pub(crate) allowed: Vec<Value>,
    /// A format that JSON Schema knows.
    pub(crate) format: Option<&'static str>,
    /// The property's meaning, where no declaration says it.
    pub(crate) about: Option<&'static str>,
    /// The value that an absent property has.
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

/// Everything one body or query asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub(crate) properties: Vec<Property>,
    /// Pairs of which one has to be there.
    pub(crate) either: Vec<[&'static str; 2]>,
    /// Takes names of the caller's own choosing.
    pub(crate) open: bool,
}

impl Outline {
    /// A property may be asked for twice; it is declared once.
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
