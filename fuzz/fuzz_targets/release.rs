//! Release names: no text may panic, the work is bounded by the length, and what is told agrees with itself.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../host/release/tests/sound/mod.rs"]
mod sound;

fuzz_target!(|name: &str| sound::assert_sound(name));
