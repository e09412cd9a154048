//! Interfaces that the host offers to plugins: those of [`qm_plugin_guest::imports`], and `log`, which is bound by hand.

mod log;
mod text;

use qm_plugin_guest::state::State;
use wasmtime::component::Linker;

pub use qm_plugin_guest::imports::{OFFERED, media, torrents, wit};

/// Offers the interfaces that all roles share.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    qm_plugin_guest::imports::add_to_linker(linker)?;
    log::add_to_linker(linker)
}
