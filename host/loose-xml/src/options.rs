//! Bounds of a walk, and the choices in which readers differ.

use crate::References;

/// Bounds and choices of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Levels of elements that are told.
    pub max_depth: usize,
    /// Treatment of elements below the deepest level.
    pub too_deep: TooDeep,
    /// Attributes of one element that are read.
    pub max_attributes: usize,
    /// Bytes of one value that are read.
    pub max_value: usize,
    /// Treatment of longer values.
    pub long_value: LongValue,
    /// Bytes of one piece of text, which is cut there.
    pub max_text: usize,
    /// Elements of web pages that hold nothing and that nobody closes, such as `br`. Lower case.
    pub void_elements: &'static [&'static str],
    /// Elements that never lie in each other, such as `item`: the next one closes the one before. Lower case.
    pub sibling_elements: &'static [&'static str],
    pub references: References,
    /// Words of the warning about an oddity; `None` where it is worth no warning.
    pub warning: fn(&Oddity) -> Option<String>,
}

/// Treatment of elements below the deepest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooDeep {
    /// They are passed over, and their texts belong to the deepest element that is told.
    PassOver,
    /// The walk ends.
    End,
}

/// Treatment of values of attributes that are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongValue {
    /// The attribute is left out.
    LeaveOut,
    /// The value is cut.
    Cut,
}

/// Something odd in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// An element was closed by another than its own end.
    LeftOpen,
    /// An end closes nothing.
    NotOpened,
    /// A reference names an entity that is not known.
    UnknownEntity,
    /// The document declares entities, which are not read.
    DeclaredEntities,
    /// Elements are nested deeper than so many levels.
    TooDeep(usize),
    /// The document cannot be read further.
    Broken(crate::Broken),
}
