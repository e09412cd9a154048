//! Categories and tags as they are listed: those of the server, with where they live, and those that only clients have.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Names listed that only clients have.
const MOST: usize = 10_000;

/// An engine that has a category or tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub engine_id: Arc<str>,
    /// Its torrents that have it.
    pub torrents: usize,
    /// It is in a list of the client's own, also without torrents.
    pub is_listed: bool,
    /// Directory that the client has for it.
    pub save_path: Option<String>,
}

/// A category or tag, and where it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<R> {
    pub name: String,
    /// None: only clients have it.
    pub row: Option<R>,
    pub homes: Vec<Home>,
}

impl<R> Listed<R> {
    /// Torrents of all engines that have it.
    pub fn torrents(&self) -> usize {
        self.homes.iter().map(|home| home.torrents).sum()
    }
}

/// Joins rows with what clients have, by name. Beyond 10,000 names that only clients have the last ones are left out.
pub fn merge<R>(
    rows: Vec<R>,
    mut homes: BTreeMap<String, Vec<Home>>,
    name_of: impl Fn(&R) -> &str,
) -> Vec<Listed<R>> {
    let stored = |row: R| {
        let name = name_of(&row).to_owned();
        Listed {
            homes: homes.remove(&name).unwrap_or_default(),
            row: Some(row),
            name,
        }
    };
    let mut all: Vec<Listed<R>> = rows.into_iter().map(stored).collect();
    let of_clients = homes.into_iter().take(MOST);
    all.extend(of_clients.map(|(name, homes)| Listed {
        name,
        row: None,
        homes,
    }));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_names_of_clients_are_one_list() {
        let home = |torrents| Home {
            engine_id: "e".into(),
            torrents,
            is_listed: false,
            save_path: None,
        };
        let homes = BTreeMap::from([
            ("tv".to_owned(), vec![home(2), home(3)]),
            ("books".to_owned(), vec![home(1)]),
        ]);
        let all = merge(vec!["films", "tv"], homes, |row| row);
        let told: Vec<_> = all
            .iter()
            .map(|listed| (listed.name.as_str(), listed.row, listed.torrents()))
            .collect();
        assert_eq!(
            told,
            [
                ("books", None, 1),
                ("films", Some("films"), 0),
                ("tv", Some("tv"), 5)
            ]
        );
        let many = (0..=MOST).map(|n| (format!("{n:06}"), vec![home(1)])).collect();
        let all = merge(vec!["films"], many, |row| row);
        assert_eq!(all.len(), MOST + 1, "the server's are all there");
    }
}
