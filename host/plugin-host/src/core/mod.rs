//! Core of the plugin host: from a file to supervised instances. Nothing here knows what a plugin is for.
//!
//! A file becomes code in `load` (its outside read by `surface`, compiled by `compile` or mapped by `cache`, tried once);
//! `catalog` knows which file provides which id, `intake` brings it what there is to load, and `scan` notices changes. What is configured holds on to a `slot` and works through `lane`s, each a task that
//! owns one instance (a state, of `qm-plugin-guest`, in a store of the `runtime`) under a `supervisor`. A role joins by [`role::Role`].

pub(crate) mod blocking;
pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod certificate;
pub(crate) mod check;
pub(crate) mod claims;
pub(crate) mod compile;
pub(crate) mod config_backoff;
pub(crate) mod fault;
pub(crate) mod installed;
pub(crate) mod intake;
pub(crate) mod lane;
pub(crate) mod listing;
pub(crate) mod load;
pub(crate) mod pins;
pub(crate) mod role;
pub(crate) mod role_calls;
pub(crate) mod runtime;
pub(crate) mod scan;
pub(crate) mod slot;
pub(crate) mod status;
pub(crate) mod supervisor;
pub(crate) mod surface;
pub(crate) mod system;
#[cfg(test)]
pub(crate) mod test_role;
pub(crate) mod trial;
