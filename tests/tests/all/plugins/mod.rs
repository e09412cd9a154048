//! Plugins as their authors write them: the examples of other languages.

mod ntfy;
