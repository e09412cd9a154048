//! Feeds: no bytes may panic, and what is read of them holds what the reader promises. The first byte chooses the header.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../host/feeds/tests/sound/mod.rs"]
mod sound;

const TYPES: &[Option<&str>] = &[
    None,
    Some("text/xml; charset=utf-8"),
    Some("application/rss+xml; charset=windows-1251"),
    Some("text/xml; charset=\"utf-16\""),
    Some("text/xml; charset=Shift_JIS"),
    Some("text/xml; charset="),
];

fuzz_target!(|data: &[u8]| {
    // A document of the corpus begins with `<`, which is none of the headers.
    let (content_type, bytes) = match data.split_first() {
        Some((first, rest)) if usize::from(*first) < TYPES.len() => (TYPES[usize::from(*first)], rest),
        _ => (None, data),
    };
    sound::assert_sound(&qm_feeds::read(bytes, content_type), bytes.len());
});
