//! Plugins as their authors write them: the examples of other languages, and what `quartermaster plugin new` writes.

mod ntfy;
mod settling;
mod tag_by_tracker;
mod templates;
