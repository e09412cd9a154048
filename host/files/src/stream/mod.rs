//! Contents of files on their way to a player, a download or a preview: tickets, ranges, answers of bytes, encodings of texts.
//!
//! Never: decides who may read a file, or resolves a path; [`service::stream`](crate::service) does.

mod encoding;
mod media;
mod plan;
mod preview;
mod range;
mod ticket;

pub use media::Media;
pub use plan::Plan;
pub use preview::preview;
pub use range::asked;
pub use ticket::{Tickets, bound_to};
