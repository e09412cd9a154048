//! `.torrent` files and bencode: no input may panic, and whatever parses can be walked to its end.
#![no_main]

use libfuzzer_sys::fuzz_target;

use qm_metainfo::bencode::{self, Node};

fn walk(node: Node<'_>) -> usize {
    let below: usize = match (node.list(), node.dict()) {
        (Some(items), _) => items.map(walk).sum(),
        (None, Some(entries)) => entries.map(|(key, value)| key.len() + walk(value)).sum(),
        (None, None) => usize::from(node.int().is_some() || node.bytes().is_some()),
    };
    below + 1
}

fuzz_target!(|data: &[u8]| {
    if let Ok(node) = bencode::parse(data) {
        assert_eq!(node.raw(), data);
        walk(node);
    }
    if let Ok(torrent) = qm_metainfo::Metainfo::parse(data) {
        assert_eq!(torrent.hash.len(), 40);
    }
});
