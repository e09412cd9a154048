//! Guests: one running instance of a plugin, as the host sees it. Its [`State`](state::State) lies in the instance's store, and
//! is all that a call of the guest may touch: memory ([`memory`]), computing time ([`meter`]), log lines ([`voice`]), the
//! network and the errands it has the rest of the server do ([`services`], [`values`]). [`imports`] are the functions it calls.
//!
//! Knows no file, no compiler and no role: `qm-plugin-host` makes instances of files, and calls them.
//!
//! Invariants: a guest gets no socket, no file and no environment; it dials, through `qm-net`, what it was granted. Whatever the
//! host holds for a guest is charged to the guest's account before it is there.
//!
//! Bounds: [`limits::Limits`].

pub mod imports;
pub mod limits;
pub mod memory;
pub mod meter;
pub mod refusals;
pub mod services;
pub mod state;
pub mod values;
pub mod voice;
