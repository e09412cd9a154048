//! Checks that cover every route: bad input, headers, secrets that stay inside, the document, proxies in front.

mod attack;
mod certificates;
mod errors;
mod headers;
mod leaks;
mod origins;
mod proxies;
mod schemathesis;
