//! Sequels: titles that differ by a number at their end. Providers' ids are sometimes wrong about them.

use std::collections::HashMap;

use crate::keys::plain;

/// Title without its last number, and that number; `None`: it has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    base: String,
    number: Option<u32>,
}

const NUMERALS: [&str; 13] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii",
];

/// Largest number that is one of a sequel: `2012` and `1917` are titles.
const LARGEST: u32 = 99;

impl Variant {
    pub fn from_title(title: &str) -> Self {
        let title = plain(title);
        let mut words: Vec<&str> = title.split(' ').collect();
        let number = words.last().and_then(|word| number(word));
        if number.is_some() && words.len() > 1 {
            words.pop();
            if words.len() > 1 && matches!(words.last(), Some(&("part" | "chapter" | "volume" | "vol"))) {
                words.pop();
            }
            return Self {
                base: words.join(" "),
                number,
            };
        }
        Self {
            base: title,
            number: None,
        }
    }
}

fn number(word: &str) -> Option<u32> {
    if let Ok(number) = word.parse::<u32>() {
        return (number <= LARGEST).then_some(number);
    }
    let at = NUMERALS.iter().position(|numeral| *numeral == word)?;
    Some(at as u32 + 1)
}

/// Splits members so that no two sequels are together; the order within a part is that of the members.
pub fn split<T: Copy>(members: &[(T, Variant)]) -> Vec<Vec<T>> {
    let mut parts: Vec<(Vec<T>, HashMap<&str, Option<u32>>)> = Vec::new();
    for (member, variant) in members {
        let fits = parts.iter_mut().find(|(_, bases)| {
            bases
                .get(&*variant.base)
                .is_none_or(|number| *number == variant.number)
        });
        match fits {
            Some((part, bases)) => {
                part.push(*member);
                bases.insert(&variant.base, variant.number);
            }
            None => parts.push((vec![*member], HashMap::from([(&*variant.base, variant.number)]))),
        }
    }
    parts.into_iter().map(|(part, _)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequels_are_told_apart() {
        for (title, base, number) in [
            ("Rocky", "rocky", None),
            ("Rocky II", "rocky", Some(2)),
            ("Rocky 2", "rocky", Some(2)),
            ("Dune: Part Two", "dune part two", None),
            ("Dune: Part 2", "dune", Some(2)),
            ("Kill Bill Vol. 1", "kill bill", Some(1)),
            ("2012", "2012", None),
            ("Blade Runner 2049", "blade runner 2049", None),
            ("Part 2", "part", Some(2)),
            ("X", "x", None),
        ] {
            let found = Variant::from_title(title);
            assert_eq!((&*found.base, found.number), (base, number), "{title}");
        }
        let members: Vec<(usize, Variant)> = ["Rocky", "Rocky II", "Rocky", "Balboa", "Rocky 2"]
            .iter()
            .enumerate()
            .map(|(at, title)| (at, Variant::from_title(title)))
            .collect();
        assert_eq!(split(&members), [vec![0, 2, 3], vec![1, 4]]);
    }
}
