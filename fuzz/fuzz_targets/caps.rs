//! What indexers answer, as the plugin reads it: capabilities and searches. No bytes may panic, and nothing grows.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../plugins/torznab-core/tests/sound/mod.rs"]
mod sound;

fuzz_target!(|data: &[u8]| sound::assert_sound(data));
