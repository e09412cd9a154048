//! `#[derive(FromBody)]` and `#[derive(FromQuery)]` of `qm-web`: the reader of a request, written from its fields.
//!
//! Fields are read in the order of the struct, which is the order of error texts and of the OpenAPI document. The type of
//! a field decides how it is read, `#[field(…)]` adds its rules, in the order in which the methods of `qm_web::Fields`
//! would be called:
//!
//! | type | sent as | rules |
//! |---|---|---|
//! | `String`, `Secret` | text | `given`, `min`, `max`, `len(min, max)`, `not_empty`, `one_of`, `email`, `check(holds, "message")`, `about` |
//! | `i64`, `i32`, `u8` … `u64`, `usize` | whole number | `min`, `max`, `one_of`; bounds of the type are added where none is named, and a named one beyond them isn't compiled |
//! | `f64` | number | `min`, `max` |
//! | `bool` | boolean | |
//! | `Vec<String>` | list of texts | `min_items`, `max_items`, `each_max`, `each_one_of` |
//! | `Map<String, Value>` | object | |
//! | `Value` | any value but `null` | |
//! | `PageQuery` | page and page size | `page = MAX` or `page(DEFAULT, MAX)`, one of which is needed |
//!
//! `Option<T>` may be absent; in `Option<Option<T>>` a `null` is `Some(None)`. Every other field is required, unless it has a
//! `default` or `default = value`.
//!
//! Further words of `#[field(…)]`:
//!
//! | word | meaning |
//! |---|---|
//! | `name = "…"` | name in the request, where it isn't the name of the field in camelCase |
//! | `string`, `integer`, `number`, `boolean`, `strings`, `object`, `any` | what it is sent as, where the type doesn't say |
//! | `trim` | takes the spaces around a text away, before its rules |
//! | `map = path` | converts the value; a text is handed to it as `&str` |
//! | `and_then = path` | converts the value to `Option`; `None` counts as absent, so the field is an `Option` or has a `default` |
//! | `words(NAMES, from_name)` | an enum, sent as one of its names; a required one needs `stand_in = value` for bodies that are refused |
//! | `with = path`, `with = path(more)` | reads it by `path(fields, name)`, `path(fields, name, more)` |
//! | `flatten` | reads it as a part of the same body or query |
//! | `skip` | doesn't read it: it is the default of its type |
//!
//! Words of `#[fields(…)]` on the struct: `optional` (a request may come without a body), `open` (unknown names are taken),
//! `check = path` (calls `path(&value, fields)` when all fields are read, for rules about several of them).

mod field;
mod item;
mod record;
mod rules;

use proc_macro::TokenStream;

use record::Source;

/// Reads a request body; see the words of `#[field(…)]` in the documentation of this crate.
#[proc_macro_derive(FromBody, attributes(field, fields))]
pub fn from_body(input: TokenStream) -> TokenStream {
    expand(input.into(), Source::Body).into()
}

/// Reads a query string; see the words of `#[field(…)]` in the documentation of this crate.
#[proc_macro_derive(FromQuery, attributes(field, fields))]
pub fn from_query(input: TokenStream) -> TokenStream {
    expand(input.into(), Source::Query).into()
}

fn expand(input: proc_macro2::TokenStream, source: Source) -> proc_macro2::TokenStream {
    syn::parse2(input)
        .and_then(|input| record::reader(&input, source))
        .unwrap_or_else(|error| error.to_compile_error())
}

#[cfg(test)]
mod tests;
