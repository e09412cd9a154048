//! Formation of groups from the keys of all items.

use std::collections::BTreeMap;

use crate::sequel::{Variant, split};
use crate::{Facts, Keys, Reason};

/// Most members of a group. More files of one title are no duplicates, but files whose names say nothing.
pub const MOST_MEMBERS: usize = 500;

/// Items that have a key in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub reason: Reason,
    /// Key of the group; no two groups have the same.
    pub key: String,
    /// Numbers of the items, in the order in which they were added.
    pub members: Vec<u32>,
    /// True if there were more than [`MOST_MEMBERS`].
    pub is_cut: bool,
}

/// Keys of all items so far.
#[derive(Debug, Default)]
pub struct Grouping {
    ids: Vec<Box<str>>,
    /// Title of each film, which sequels are told apart by.
    variants: BTreeMap<u32, Variant>,
    buckets: BTreeMap<(Reason, Box<str>), Vec<u32>>,
}

impl Grouping {
    /// Adds an item. Items have to be added in the order of their ids.
    pub fn add(&mut self, item: &Facts) {
        let number = self.ids.len() as u32;
        self.ids.push(item.id.as_str().into());
        for (reason, key) in Keys::from_facts(item).0 {
            if reason == Reason::ExternalId && item.is_film() {
                self.variants
                    .entry(number)
                    .or_insert_with(|| Variant::from_title(&item.title));
            }
            let bucket = self.buckets.entry((reason, key.into())).or_default();
            if bucket.last() != Some(&number) {
                bucket.push(number);
            }
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Forms the groups: by the first reason first, and each item is in the first group that it fits. The result has the
    /// ids of the items beside the groups, which name them by their numbers.
    pub fn finish(self) -> (Vec<Box<str>>, Vec<Group>) {
        let mut is_taken = vec![false; self.ids.len()];
        let mut groups = Vec::new();
        for ((reason, key), members) in self.buckets {
            if members.len() < 2 {
                continue;
            }
            let parts = if reason == Reason::ExternalId {
                let none = Variant::from_title("");
                let told: Vec<(u32, Variant)> = members
                    .into_iter()
                    .map(|number| {
                        let variant = self.variants.get(&number).unwrap_or(&none);
                        (number, variant.clone())
                    })
                    .collect();
                split(&told)
            } else {
                vec![members]
            };
            for (at, mut members) in parts.into_iter().enumerate() {
                members.retain(|number| !is_taken[*number as usize]);
                if members.len() < 2 {
                    continue;
                }
                for number in &members {
                    is_taken[*number as usize] = true;
                }
                let is_cut = members.len() > MOST_MEMBERS;
                members.truncate(MOST_MEMBERS);
                let key = if at == 0 {
                    key.to_string()
                } else {
                    format!("{key}#{at}")
                };
                groups.push(Group {
                    reason,
                    key,
                    members,
                    is_cut,
                });
            }
        }
        (self.ids, groups)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn film(id: &str, title: &str, year: Option<i64>, ids: &[(&str, &str)]) -> Facts {
        let external_ids = ids.iter().map(|(of, id)| ((*of).to_owned(), (*id).to_owned()));
        Facts {
            id: id.to_owned(),
            media_type: "movie".to_owned(),
            title: title.to_owned(),
            year,
            external_ids: external_ids.collect(),
            ..Facts::default()
        }
    }

    fn added(items: &[Facts]) -> Grouping {
        let mut grouping = Grouping::default();
        for item in items {
            grouping.add(item);
        }
        grouping
    }

    fn group(items: &[Facts]) -> Vec<String> {
        let (ids, groups) = added(items).finish();
        let shown = |group: Group| {
            let members = group.members.iter().map(|number| &*ids[*number as usize]);
            format!("{}: {}", group.key, members.collect::<Vec<_>>().join(" "))
        };
        groups.into_iter().map(shown).collect()
    }

    #[test]
    fn an_item_is_in_the_first_group_that_it_fits() {
        let items = [
            film("a", "Alien", Some(1979), &[("titledb", "tt1")]),
            film("b", "Alien", Some(1979), &[("titledb", "tt1")]),
            film("c", "Alien", Some(1979), &[]),
            film("d", "Heat", None, &[("titledb", "tt2"), ("provider_a", "9")]),
            film("e", "Heat", Some(1995), &[("titledb", "tt3")]),
            film("f", "Heat!", Some(1995), &[]),
        ];
        // `c` would be with `a` and `b` by its title, but these are together already.
        assert_eq!(
            group(&items),
            ["external_id:titledb:tt1:1979: a b", "ty:heat:1995: e f"]
        );
    }

    #[test]
    fn sequels_with_one_id_are_groups_of_their_own() {
        let id: &[(&str, &str)] = &[("provider_a", "1")];
        let items = [
            film("a", "Rocky", Some(1976), id),
            film("b", "Rocky II", Some(1976), id),
            film("c", "Rocky", Some(1976), id),
            film("d", "Rocky 2", Some(1976), id),
            film("e", "Rocky III", Some(1976), id),
        ];
        assert_eq!(
            group(&items),
            [
                "external_id:provider_a:1:1976: a c",
                "external_id:provider_a:1:1976#1: b d"
            ]
        );
    }

    #[test]
    fn a_group_has_a_bound() {
        let items: Vec<Facts> = (0..MOST_MEMBERS + 5)
            .map(|number| film(&format!("{number:05}"), "Video", None, &[]))
            .collect();
        let grouping = added(&items);
        assert_eq!((grouping.len(), grouping.is_empty()), (MOST_MEMBERS + 5, false));
        let (_, groups) = grouping.finish();
        assert_eq!((groups.len(), groups[0].members.len()), (1, MOST_MEMBERS));
        assert!(groups[0].is_cut);
    }

    fn any_film() -> impl Strategy<Value = Facts> {
        let title = prop::sample::select(vec!["Alien", "Alien 2", "Heat", "heat", "!!", ""]);
        let media_type = prop::sample::select(vec!["movie", "tv", "anime", "documentary", ""]);
        let number = || prop::option::of(0..3_i64);
        let ids = prop::collection::vec(
            (prop::sample::select(vec!["titledb", "provider_a"]), 0..3_u8),
            0..2,
        );
        (title, media_type, number(), number(), number(), ids).prop_map(
            |(title, media_type, year, season, episode, ids)| Facts {
                media_type: media_type.to_owned(),
                title: title.to_owned(),
                year,
                season,
                episode,
                external_ids: ids
                    .into_iter()
                    .map(|(of, id)| (of.to_owned(), id.to_string()))
                    .collect(),
                ..Facts::default()
            },
        )
    }

    proptest! {
        #[test]
        fn groups_are_of_two_or_more_and_share_no_item(items in prop::collection::vec(any_film(), 0..40)) {
            let mut items = items;
            for (at, item) in items.iter_mut().enumerate() {
                item.id = format!("{at:03}");
            }
            let form = || added(&items).finish().1;
            let groups = form();
            let mut seen = std::collections::BTreeSet::new();
            let mut keys = std::collections::BTreeSet::new();
            for group in &groups {
                prop_assert!(group.members.len() >= 2);
                prop_assert!(keys.insert(group.key.clone()), "{} is there twice", group.key);
                for number in &group.members {
                    prop_assert!(seen.insert(*number), "{number} is in two groups");
                }
                let has_key = |number: &u32| {
                    let key = group.key.split('#').next().unwrap_or_default();
                    Keys::from_facts(&items[*number as usize]).0.iter().any(|(_, own)| own == key)
                };
                prop_assert!(group.members.iter().all(has_key));
            }
            prop_assert_eq!(form(), groups);
        }
    }
}
