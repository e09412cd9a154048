//! The bounded run of the fuzz target `caps` over its seeds: as they are, and changed in ways that are the same everywhere.

mod sound;

use std::path::PathBuf;

/// Bytes that mean something to a reader.
const ODD: &[u8] = b"<>&;/'\"= ![]?-\x00\xff\xc3a:m";

/// Numbers that come again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

#[test]
fn nothing_made_of_the_corpus_breaks_the_reader() {
    let folder =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("tests/corpus");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(corpus.len() >= 12, "{} documents", corpus.len());
    let mut dice = Dice(11);
    for bytes in &corpus {
        sound::assert_sound(bytes);
        for round in 0..120 {
            let mut changed = bytes.clone();
            match round % 4 {
                0 => changed.truncate(dice.roll(bytes.len())),
                1 => {
                    for _ in 0..=dice.roll(8) {
                        let at = dice.roll(changed.len());
                        changed[at] = ODD[dice.roll(ODD.len())];
                    }
                }
                2 => {
                    let other = &corpus[dice.roll(corpus.len())];
                    changed.truncate(dice.roll(bytes.len()));
                    changed.extend_from_slice(&other[dice.roll(other.len())..]);
                }
                _ => {
                    let (from, to) = (dice.roll(bytes.len()), dice.roll(bytes.len()));
                    let piece = bytes[from.min(to)..from.max(to)].to_vec();
                    let at = dice.roll(changed.len());
                    changed.splice(at..at, piece);
                }
            }
            sound::assert_sound(&changed);
        }
    }
}
