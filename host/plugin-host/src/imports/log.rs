//! `log`: the plugin's voice. Granted to all; bounded by [`Voice`](crate::core::voice::Voice).

use wasmtime::Result;

use super::wit::log;
use crate::core::state::State;

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        let level = match level {
            log::Level::Trace => tracing::Level::TRACE,
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
            log::Level::Error => tracing::Level::ERROR,
        };
        self.voice.say(level, &message);
        Ok(())
    }
}
