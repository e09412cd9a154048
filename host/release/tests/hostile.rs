//! Bounded run of the fuzz target: our own names with reproducible mutations.

mod sound;

use serde_json::Value;
use sound::assert_sound;

const OWN: &str = include_str!("../corpus/names.jsonl");
/// Number of mutations of each name.
const ROUNDS: usize = 40;

/// Reproducible random numbers.
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

/// Characters with a meaning to the parser, and some of several bytes.
const ODD: &[char] = &[
    '.', '-', '_', ' ', '[', ']', '(', ')', '{', 'S', 'E', 'x', 'v', '0', '1', '9', '\0', '\u{e9}', '第',
    '話',
];

fn changed(name: &[char], other: &[char], dice: &mut Dice, way: usize) -> Vec<char> {
    let mut new = name.to_vec();
    match way {
        0 => new.truncate(dice.roll(name.len())),
        1 => {
            for _ in 0..=dice.roll(8) {
                let at = dice.roll(new.len());
                new.splice(at..new.len().min(at + 1), [ODD[dice.roll(ODD.len())]]);
            }
        }
        2 => {
            new.truncate(dice.roll(name.len()));
            new.extend_from_slice(&other[dice.roll(other.len())..]);
        }
        _ => {
            let (from, to) = (dice.roll(name.len()), dice.roll(name.len()));
            let piece = name[from.min(to)..from.max(to)].to_vec();
            let at = dice.roll(new.len());
            new.splice(at..at, piece);
        }
    }
    new
}

#[test]
fn nothing_made_of_the_names_breaks_the_reader() {
    let names: Vec<Vec<char>> = OWN
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the corpus is JSON lines"))
        .map(|case| case["name"].as_str().expect("a name").chars().collect())
        .collect();
    assert!(names.len() >= 100, "{} names", names.len());
    let mut dice = Dice(11);
    for name in &names {
        assert_sound(&name.iter().collect::<String>());
        for round in 0..ROUNDS {
            let other = &names[dice.roll(names.len())];
            let new = changed(name, other, &mut dice, round % 4);
            assert_sound(&new.into_iter().collect::<String>());
        }
    }
}
