//! Families: shows of one library that seem to be one.

use std::collections::HashMap;

use qm_ports::folders::FolderShow;

/// Ties within a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tie {
    pub by_name: bool,
    pub by_id: bool,
}

impl Tie {
    pub const fn as_str(self) -> &'static str {
        match (self.by_name, self.by_id) {
            (true, true) => "name+titledb",
            (false, true) => "titledb",
            _ => "name",
        }
    }
}

/// Shows that seem to be one, in the order of their folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    pub tie: Tie,
    /// True if the names of their folders alone would not tie all of them.
    pub needs_review: bool,
    pub shows: Vec<FolderShow>,
}

/// True if the names of two folders may be those of one show. A name without a letter or a digit says nothing.
pub fn is_same_name(one: &FolderShow, other: &FolderShow) -> bool {
    let is_same_year = match (one.year, other.year) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    !one.canonical_key.is_empty() && one.canonical_key == other.canonical_key && is_same_year
}

/// Positions that belong together.
struct Union(Vec<usize>);

impl Union {
    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// Families among shows, those with the most members first.
pub fn find_families(shows: &[FolderShow]) -> Vec<Family> {
    let mut by_name = Union((0..shows.len()).collect());
    join_names(shows, &mut by_name);
    let mut both = Union(by_name.0.clone());
    let mut ids: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, show) in shows.iter().enumerate() {
        let Some(id) = show.titledb_id.as_deref().filter(|id| !id.is_empty()) else {
            continue;
        };
        let first = *ids.entry((&*show.library_id, id)).or_insert(at);
        both.join(first, at);
    }
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in 0..shows.len() {
        members.entry(both.find(at)).or_default().push(at);
    }
    let several = members.into_values().filter(|members| members.len() > 1);
    let mut families: Vec<(usize, Family)> = several
        .map(|members| (members[0], to_family(shows, &members, &mut by_name)))
        .collect();
    families.sort_by_key(|(first, family)| (std::cmp::Reverse(family.shows.len()), *first));
    families.into_iter().map(|(_, family)| family).collect()
}

/// Joins shows with the name of one show. Those of no known year join the others only where these are of one year: else
/// nobody could say which of them they are.
fn join_names(shows: &[FolderShow], union: &mut Union) {
    let mut names: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    let named = shows.iter().enumerate();
    for (at, show) in named.filter(|(_, show)| !show.canonical_key.is_empty()) {
        let name = (&*show.library_id, &*show.canonical_key);
        names.entry(name).or_default().push(at);
    }
    for alike in names.into_values() {
        let mut years: HashMap<Option<i64>, usize> = HashMap::new();
        for at in alike {
            let first = *years.entry(shows[at].year).or_insert(at);
            union.join(first, at);
        }
        if years.len() == 2
            && let Some(unknown) = years.remove(&None)
        {
            for known in years.into_values() {
                union.join(unknown, known);
            }
        }
    }
}

fn to_family(shows: &[FolderShow], members: &[usize], by_name: &mut Union) -> Family {
    let names: Vec<usize> = members.iter().map(|at| by_name.find(*at)).collect();
    let is_repeated = |name: &usize| names.iter().filter(|other| *other == name).count() > 1;
    let mut ids: Vec<&str> = members
        .iter()
        .filter_map(|at| shows[*at].titledb_id.as_deref())
        .filter(|id| !id.is_empty())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    Family {
        tie: Tie {
            by_name: names.iter().any(is_repeated),
            by_id: ids.len() < all,
        },
        needs_review: names.iter().any(|name| *name != names[0]),
        shows: members.iter().map(|at| shows[*at].clone()).collect(),
    }
}
