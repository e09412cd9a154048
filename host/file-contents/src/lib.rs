//! Contents of files on their way to a player, a download or a preview: kinds and media types by names, encodings of texts,
//! ranges, answers of bytes, and tickets.
//!
//! Never: decides who may read a file, or resolves a path; the area of files does.

mod encoding;
mod kind;
mod media;
mod plan;
mod range;
mod ticket;

pub use encoding::{Encoding, is_binary};
pub use kind::{Kind, extension, mime};
pub use media::{Content, Media};
pub use plan::Plan;
pub use range::{Asked, Span, Validators, asked};
pub use ticket::{Claims, Tickets, bound_to};
