//! Magnet links: no text may panic; what is accepted has a hash of 40 digits and no second line.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(magnet) = qm_metainfo::Magnet::parse(text) {
        assert!(magnet.hash.len() == 40 && magnet.hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(!magnet.uri.contains(['\n', '\r']));
    }
});
