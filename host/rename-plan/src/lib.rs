//! New names of media files, as media servers read them.
//!
//! A [`Template`] is a path with tokens; a [`Preset`] has one for each kind of content. [`plan()`] reads what the name of each
//! file says, and answers where the file belongs. Pure: the same input gives the same plan, nothing panics on any text, and a
//! planned file that is planned again stays where it is.
//!
//! Every destination lies below the library's directory, and no two are equal, upper and lower case or composed and
//! decomposed letters set aside.
//!
//! Bounds: 2,000 characters, 200 pieces, 16 folders and 4 nested conditions a template; 255 bytes a name.

mod clean;
mod cleanup;
mod explain;
mod file;
mod language;
mod plan;
mod preset;
mod read;
mod render;
mod template;
mod token;

pub use cleanup::Cleanup;
pub use explain::{Explained, Explanation, explain};
pub use plan::{Action, Item, KnownShow, Mode, Plan, Source, Wish, plan};
pub use preset::{Preset, Templates};
pub use read::{Content, Origin, Reading, Value};
pub use render::Refusal;
pub use template::{MAX_FOLDERS, MAX_PIECES, MAX_TEMPLATE, Template, TemplateError};
pub use token::Token;

/// Most bytes of a name on the usual file systems.
pub const MAX_NAME_BYTES: usize = 255;
