//! Films that share an id though they lie in folders of their own: which film each folder is.

use std::collections::BTreeMap;

use qm_release::parse;
use serde::{Deserialize, Serialize};

/// Ids by their providers.
pub type Ids = BTreeMap<String, String>;

/// Treatment of an item's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The ids are replaced.
    Reidentify,
    /// The ids are deleted: no provider knows the film.
    Clear,
    Unchanged,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Reidentify => "reidentify",
            Action::Clear => "clear",
            Action::Unchanged => "unchanged",
        }
    }
}

/// An item that holds an id which items of another folder hold too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub item_id: String,
    pub locked: bool,
    /// The whole path of its file.
    pub path: String,
    /// The whole path of its folder, with the name of the folder.
    pub folder: String,
    pub current: Ids,
}

/// Finding about the film of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Film {
    Known(Ids),
    /// All providers that were asked answered, and none knows it.
    Unknown,
    /// Several films match equally well.
    Ambiguous(Vec<(String, String)>),
    /// A provider that might know it did not answer; with the reason.
    Unasked(String),
}

/// Proposal for one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub held: Held,
    pub title: String,
    pub year: Option<i64>,
    pub proposed: Ids,
    pub action: Action,
    pub ambiguous: bool,
    pub reason: String,
}

/// Number of shared ids, and the proposals for all items that hold them.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    pub contaminated: usize,
    pub proposals: Vec<Proposal>,
}

/// Result of a repair, in items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    pub reidentified: u64,
    pub cleared: u64,
    pub unchanged: u64,
}

impl Proposal {
    /// Proposal for an item, by the film of its folder.
    pub fn new(held: Held, (title, year): (String, Option<i64>), film: &Film) -> Self {
        let stays = |reason: String, ambiguous| (held.current.clone(), Action::Unchanged, ambiguous, reason);
        let (proposed, action, ambiguous, reason) = match film {
            _ if held.locked => stays("The item is locked.".to_owned(), false),
            Film::Unasked(reason) => stays(reason.clone(), false),
            Film::Known(ids) if *ids == held.current => {
                stays("It has the ids of its folder.".to_owned(), false)
            }
            Film::Known(ids) => {
                let reason = "Its folder is another film, or has more ids.".to_owned();
                (ids.clone(), Action::Reidentify, false, reason)
            }
            Film::Ambiguous(all)
                if all
                    .iter()
                    .any(|(provider, id)| held.current.get(provider) == Some(id)) =>
            {
                let reason = "Several films are equally likely, and it has the id of one of them.";
                stays(reason.to_owned(), true)
            }
            Film::Ambiguous(_) => {
                let reason = "Several films are equally likely, and it has the id of none of them.";
                (Ids::new(), Action::Clear, true, reason.to_owned())
            }
            Film::Unknown => {
                let reason = "Nobody knows the film that its folder names.";
                (Ids::new(), Action::Clear, false, reason.to_owned())
            }
        };
        Self {
            held,
            title,
            year,
            proposed,
            action,
            ambiguous,
            reason,
        }
    }
}

/// Title and year from the name of a film's folder. A year later than two years after `this_year` is none.
pub fn film_of(folder: &str, this_year: i64) -> (String, Option<i64>) {
    let bare = without_groups(folder);
    let plausible = |year: i64| (1888..=this_year + 2).contains(&year);
    if let Some((title, rest)) = bare.split_once('(')
        && let Some((year, _)) = rest.split_once(')')
        && year.len() == 4
        && let Some(year) = year.parse().ok().filter(|year| plausible(*year))
        && !title.trim().is_empty()
    {
        return (title.trim().to_owned(), Some(year));
    }
    let release = parse(&bare.replace('.', " "));
    let title = release.title.filter(|title| !title.trim().is_empty());
    let title = title.unwrap_or_else(|| bare.replace('.', " "));
    let year = release.year.map(i64::from).filter(|year| plausible(*year));
    (title.trim().to_owned(), year)
}

/// Name without `[…]` and `{…}`. A bracket that is not closed stays.
fn without_groups(name: &str) -> String {
    let mut kept = String::new();
    let mut rest = name;
    while let Some(start) = rest.find(['[', '{']) {
        let close = if rest[start..].starts_with('[') { ']' } else { '}' };
        let Some(end) = rest[start..].find(close) else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + end + 1..];
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_films() {
        for (folder, title, year) in [
            ("Alien (1979)", "Alien", Some(1979)),
            ("Alien (1979) [1080p] {tmdb-348}", "Alien", Some(1979)),
            ("Alien.1979.1080p.BluRay.x264-GRP", "Alien", Some(1979)),
            ("Blade Runner 2049 (2017)", "Blade Runner 2049", Some(2017)),
            ("[Group] Alien", "Alien", None),
            ("Alien 1080p", "Alien", None),
            ("Alien (3000)", "Alien (3000)", None),
        ] {
            let (found, of) = film_of(folder, 2026);
            assert_eq!(of, year, "{folder}");
            if year.is_some() || !folder.contains('(') {
                assert_eq!(found, title, "{folder}");
            }
        }
    }

    fn ids(ids: &[(&str, &str)]) -> Ids {
        let owned = ids
            .iter()
            .map(|(provider, id)| ((*provider).to_owned(), (*id).to_owned()));
        owned.collect()
    }

    #[test]
    fn nothing_goes_because_somebody_was_silent() {
        let held = |locked| Held {
            item_id: "i".to_owned(),
            locked,
            path: String::new(),
            folder: String::new(),
            current: ids(&[("provider_a", "1")]),
        };
        let of = |id: &str| {
            vec![
                ("provider_a".to_owned(), id.to_owned()),
                ("provider_a".to_owned(), "9".to_owned()),
            ]
        };
        for (locked, film, action, ambiguous, left) in [
            (
                false,
                Film::Known(ids(&[("provider_a", "1")])),
                Action::Unchanged,
                false,
                1,
            ),
            (
                false,
                Film::Known(ids(&[("provider_a", "2")])),
                Action::Reidentify,
                false,
                1,
            ),
            (false, Film::Unknown, Action::Clear, false, 0),
            (true, Film::Unknown, Action::Unchanged, false, 1),
            (
                false,
                Film::Unasked("it hangs".to_owned()),
                Action::Unchanged,
                false,
                1,
            ),
            (false, Film::Ambiguous(of("1")), Action::Unchanged, true, 1),
            (false, Film::Ambiguous(of("2")), Action::Clear, true, 0),
        ] {
            let proposal = Proposal::new(held(locked), (String::new(), None), &film);
            assert_eq!(
                (proposal.action, proposal.ambiguous),
                (action, ambiguous),
                "{film:?}"
            );
            assert_eq!(proposal.proposed.len(), left, "{film:?}");
        }
    }
}
