//! `log`: the plugin's voice. Granted to all; bounded by [`Voice`](crate::core::voice::Voice).
//!
//! Bound by hand: a text is looked at where it lies in the guest's memory, and only as much of it is copied as a line holds.

use wasmtime::component::{Linker, WasmStr};
use wasmtime::{Result, StoreContextMut};

use super::wit::log::Level;
use crate::core::state::State;

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker
        .instance("quartermaster:base/log@0.1.0")?
        .func_wrap("log", |store: StoreContextMut<'_, State>, (level, message)| {
            log(&store, level, &message)
        })
}

fn log(store: &StoreContextMut<'_, State>, level: Level, message: &WasmStr) -> Result<()> {
    let level = match level {
        Level::Trace => tracing::Level::TRACE,
        Level::Debug => tracing::Level::DEBUG,
        Level::Info => tracing::Level::INFO,
        Level::Warn => tracing::Level::WARN,
        Level::Error => tracing::Level::ERROR,
    };
    let message = message.to_str(store)?;
    store.data().voice.say(level, &message);
    Ok(())
}
