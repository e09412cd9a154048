//! Names of media: facts from the path of a file below a library's directory, and from small files beside it.
//!
//! Pure: no I/O, no clock, no database; nothing panics on any text. A library's [`Kind`] decides between the readings of a name.

mod facts;
mod kind;
pub mod name;
pub mod naming;
pub mod nfo;
pub mod note;
pub mod place;
pub mod pointer;
pub mod show;
pub mod subtitle;

pub use facts::{Facts, Tech};
pub use kind::Kind;
