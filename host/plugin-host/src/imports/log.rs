//! `log`: the plugin's voice. Granted to all; bounded by [`Voice`](qm_plugin_guest::voice::Voice).
//!
//! Bound by hand: a text stays where it lies in the guest's memory. Of one that is logged a line is read; of one that is dropped
//! nothing.

use qm_plugin_guest::state::State;
use qm_plugin_guest::voice::LINE;
use wasmtime::component::Linker;
use wasmtime::{Result, StoreContextMut};

use super::text::Beginning;
use super::wit::log::Level;

/// As much of a text as may become a line.
type Message = Beginning<LINE>;

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker
        .instance("quartermaster:base/log@0.1.0")?
        .func_wrap("log", |store: StoreContextMut<'_, State>, (level, message)| {
            log(&store, level, &message)
        })
}

fn log(store: &StoreContextMut<'_, State>, level: Level, message: &Message) -> Result<()> {
    let level = match level {
        Level::Trace => tracing::Level::TRACE,
        Level::Debug => tracing::Level::DEBUG,
        Level::Info => tracing::Level::INFO,
        Level::Warn => tracing::Level::WARN,
        Level::Error => tracing::Level::ERROR,
    };
    let voice = &store.data().voice;
    if voice.may_say(message.whole) {
        voice.say_now(level, &message.read(store)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use wasmtime::Store;
    use wasmtime::component::{Component, TypedFunc};

    use super::*;
    use crate::core::runtime::Runtime;
    use qm_plugin_guest::limits::Limits;

    /// Where the guest's memory holds what is no text, in none of the encodings; before and after it are zeros.
    const NO_TEXT: u32 = 10_000;
    const MANY: u32 = 60 << 20;

    /// A guest that logs what lies in its memory.
    struct Guest {
        runtime: Arc<Runtime>,
        store: Store<State>,
        log: TypedFunc<(u32, u32), ()>,
        dropped: Arc<AtomicU64>,
    }

    impl Guest {
        async fn start(encoding: &str) -> Self {
            let text = format!(
                r#"(component
                  (import "quartermaster:base/log@0.1.0" (instance $base
                    (type $words (enum "trace" "debug" "info" "warn" "error"))
                    (export "level" (type $level (eq $words)))
                    (export "log" (func (param "level" $level) (param "message" string)))))
                  (core module $memory
                    (memory (export "m") 1000)
                    (data (i32.const {NO_TEXT}) "\ff\dc\ff\dc"))
                  (core instance $held (instantiate $memory))
                  (alias core export $held "m" (core memory $m))
                  (core func $log (canon lower (func $base "log") (memory $m) string-encoding={encoding}))
                  (core module $guest
                    (import "h" "log" (func $log (param i32 i32 i32)))
                    (func (export "log") (param i32 i32)
                      (call $log (i32.const 3) (local.get 0) (local.get 1))))
                  (core instance $running (instantiate $guest (with "h" (instance (export "log" (func $log))))))
                  (func (export "log") (param "at" u32) (param "length" u32)
                    (canon lift (core func $running "log"))))"#
            );
            // What a guest may hand over at once is a line.
            let limits = Limits {
                argument_bytes: 2 * LINE,
                ..Limits::default()
            };
            let runtime = Runtime::of_test(limits);
            let dropped = Arc::<AtomicU64>::default();
            let mut store = runtime.store_of_test(dropped.clone());
            let component = Component::new(&runtime.engine, wat::parse_str(text).unwrap()).unwrap();
            let instance = runtime
                .linker
                .instantiate_async(&mut store, &component)
                .await
                .unwrap();
            let log = instance.get_typed_func(&mut store, "log").unwrap();
            Self {
                runtime,
                store,
                log,
                dropped,
            }
        }

        async fn log(&mut self, at: u32, length: u32) -> Result<()> {
            let _ticking = self.runtime.ticking();
            self.log.call_async(&mut self.store, (at, length)).await
        }

        fn dropped(&self) -> u64 {
            self.store.data().voice.settle();
            self.dropped.load(Relaxed)
        }
    }

    #[tokio::test]
    async fn of_a_long_text_a_line_is_read() {
        for (encoding, long) in [
            ("utf8", MANY),
            ("utf16", MANY / 2),
            ("latin1+utf16", MANY / 2),
            ("latin1+utf16", (MANY / 2) | 1 << 31),
        ] {
            let mut guest = Guest::start(encoding).await;
            guest.log(0, long).await.expect(encoding);
            assert_eq!(guest.dropped(), 0, "{encoding}");
        }
        for (encoding, length) in [("utf8", 4), ("utf16", 2), ("latin1+utf16", 2 | 1 << 31)] {
            let mut guest = Guest::start(encoding).await;
            let refused = guest.log(NO_TEXT, length).await;
            assert!(refused.is_err(), "{encoding}: what is read is looked at");
        }
    }

    #[tokio::test]
    async fn of_a_text_that_is_dropped_nothing_is_read() {
        for (encoding, long) in [
            ("utf8", MANY),
            ("utf16", MANY / 2),
            ("latin1+utf16", (MANY / 2) | 1 << 31),
        ] {
            let mut guest = Guest::start(encoding).await;
            guest.store.data().voice.spend_all();
            for _ in 0..1000 {
                guest
                    .log(NO_TEXT, long)
                    .await
                    .expect("it is no text, which nobody noticed");
            }
            assert_eq!(guest.dropped(), 1000, "{encoding}");
        }
    }

    #[tokio::test]
    async fn a_text_outside_the_memory_is_refused_also_when_it_would_be_dropped() {
        for (at, length) in [
            (0, u32::MAX),
            (u32::MAX, 1),
            (1000 << 16, 1),
            ((1000 << 16) - 1, 2),
        ] {
            let mut guest = Guest::start("utf8").await;
            guest.store.data().voice.spend_all();
            let refused = guest.log(at, length).await.unwrap_err();
            assert!(
                format!("{refused:?}").contains("out of the guest's memory"),
                "{refused:?}"
            );
        }
    }
}
