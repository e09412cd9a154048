//! Series as the browser groups episodes: by the folder that holds them, or by their title where none does.

use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use qm_kernel::Timestamp;
use qm_media_names::name::is_season;
use qm_media_names::naming::{composed, show_at};
use qm_media_names::place;

use super::item::Sort;

/// Key of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The whole path of its folder, as people are shown it.
    Folder(String),
    /// The title of episodes that no proper folder holds.
    Title(String),
}

impl Key {
    /// Text of the key, as in answers and queries.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(match self {
            Key::Folder(path) => format!("dir:{path}"),
            Key::Title(title) => format!("title:{title}"),
        })
    }

    /// Key of a text; `None`: it is no key.
    pub fn parse(text: &str) -> Option<Self> {
        let engine = if text.ends_with('=') {
            URL_SAFE
        } else {
            URL_SAFE_NO_PAD
        };
        let key = String::from_utf8(engine.decode(text).ok()?).ok()?;
        match key.split_once(':')? {
            ("dir", path) if !path.is_empty() => Some(Key::Folder(path.to_owned())),
            ("title", title) => Some(Key::Title(title.to_owned())),
            _ => None,
        }
    }

    /// The folder below a library's path, where it lies below it.
    pub fn below<'a>(&'a self, library: &str) -> Option<&'a str> {
        let Key::Folder(path) = self else { return None };
        let rest = path.strip_prefix(library.trim_end_matches('/'))?;
        rest.strip_prefix('/').filter(|rest| !rest.is_empty())
    }
}

/// The folder of a show, of a path below its library, as people are shown it; `None` where no proper folder holds the file.
pub fn show_folder(shown: &str) -> Option<&str> {
    folder_above(shown.rsplit_once('/')?.0)
}

/// The same of the directory of a file; empty: the library's own.
pub fn folder_above(directory: &str) -> Option<&str> {
    if directory.is_empty() {
        return None;
    }
    let folders: Vec<&str> = directory.split('/').collect();
    // A release of a season right in the library is the only folder of its show.
    let at = show_at(&folders).or_else(|| (!is_season(folders[0])).then_some(0))?;
    let end = folders[..=at].iter().map(|folder| folder.len()).sum::<usize>() + at;
    Some(&directory[..end])
}

/// Key and title of the series of an item: a library's path, the item's place in it, and its title.
pub fn series_of(library: &str, item: &str, title: &str) -> (String, String) {
    let shown = place::shown(item);
    let (key, title) = match show_folder(&shown) {
        Some(folder) => of_folder(library, folder),
        None => {
            let title = composed(title).into_owned();
            (Key::Title(title.clone()), title)
        }
    };
    (key.text(), title)
}

/// Key and title of the series in a folder below a library's path.
pub fn of_folder(library: &str, folder: &str) -> (Key, String) {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    // `absolute` would decode; a shown folder is decoded already.
    let path = format!("{}/{folder}", library.trim_end_matches('/'));
    (Key::Folder(path), composed(name).into_owned())
}

/// Episodes that lie in one directory, are of one season and, where no folder names their series, of one title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bunch {
    pub season: Option<i64>,
    pub episodes: i64,
    /// Earliest year.
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    /// Creation time of the newest episode, in milliseconds since 1970.
    pub added: i64,
    pub updated: i64,
}

/// A series as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    pub key: Key,
    pub title: String,
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    pub episodes: i64,
    pub seasons: usize,
    pub added: Timestamp,
    pub updated: Timestamp,
}

/// Puts bunches of episodes together.
#[derive(Default)]
pub struct Gathered(HashMap<Key, (Series, BTreeSet<i64>)>);

impl Gathered {
    pub fn add(&mut self, (key, title): (Key, String), bunch: Bunch) {
        let (series, seasons) = self.0.entry(key).or_insert_with_key(|key| {
            let empty = Series {
                key: key.clone(),
                title,
                year: None,
                titledb_id: None,
                episodes: 0,
                seasons: 0,
                added: Timestamp::from_ms(bunch.added),
                updated: Timestamp::from_ms(bunch.updated),
            };
            (empty, BTreeSet::new())
        });
        series.year = match (series.year, bunch.year) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        series.titledb_id = series.titledb_id.take().or(bunch.titledb_id);
        series.episodes += bunch.episodes;
        series.added = series.added.max(Timestamp::from_ms(bunch.added));
        series.updated = series.updated.max(Timestamp::from_ms(bunch.updated));
        seasons.insert(bunch.season.unwrap_or(0));
        series.seasons = seasons.len();
    }

    /// All of them, in no order.
    pub fn all(self) -> Vec<Series> {
        self.0.into_values().map(|(series, _)| series).collect()
    }
}

/// Series in order; `search`: a part of the title, in any case.
pub fn sorted<'a>(all: &'a [Series], search: Option<&str>, sort: Sort) -> Vec<&'a Series> {
    let part = search.map(|part| composed(part).to_lowercase());
    let mut found: Vec<(String, &Series)> = all
        .iter()
        .map(|series| (composed(&series.title).to_lowercase(), series))
        .filter(|(lower, _)| part.as_ref().is_none_or(|part| lower.contains(part)))
        .collect();
    found.sort_by(|(a_title, a), (b_title, b)| {
        let by_title = || a_title.cmp(b_title).then_with(|| a.key.cmp(&b.key));
        // Series without a year come last in both directions.
        let by_year = |newest_first: bool| match (a.year, b.year) {
            (Some(a), Some(b)) if newest_first => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        match sort {
            Sort::Title => by_title(),
            Sort::TitleDesc => by_title().reverse(),
            Sort::AddedAsc => a.added.cmp(&b.added).then_with(by_title),
            Sort::AddedDesc => b.added.cmp(&a.added).then_with(by_title),
            Sort::UpdatedDesc => b.updated.cmp(&a.updated).then_with(by_title),
            Sort::YearAsc => by_year(false).then_with(by_title),
            Sort::YearDesc => by_year(true).then_with(by_title),
        }
    });
    found.into_iter().map(|(_, series)| series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_show_is_the_folder_above_its_seasons() {
        for (path, expected) in [
            ("The Wire/Season 1/a.mkv", Some("The Wire")),
            ("The Wire/a.mkv", Some("The Wire")),
            ("The Wire/Extras/a.mkv", Some("The Wire")),
            ("The Wire/The.Wire.S01.1080p-GRP/a.mkv", Some("The Wire")),
            ("Season 1/a.mkv", None),
            ("a.mkv", None),
        ] {
            assert_eq!(show_folder(path), expected, "{path}");
        }
        let (key, title) = series_of("/tv", "The Wire/Season 1/a.mkv", "x");
        assert_eq!(
            (key, &*title),
            (URL_SAFE_NO_PAD.encode("dir:/tv/The Wire"), "The Wire")
        );
        assert_eq!(
            series_of("/tv", "a.mkv", "x").0,
            URL_SAFE_NO_PAD.encode("title:x")
        );
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for key in [
            Key::Folder("/tv/The Wire".to_owned()),
            Key::Title("a:b".to_owned()),
            Key::Title(String::new()),
        ] {
            assert_eq!(Key::parse(&key.text()), Some(key.clone()));
        }
        let padded = URL_SAFE.encode("title:x");
        assert!(padded.ends_with('='));
        assert_eq!(Key::parse(&padded), Some(Key::Title("x".to_owned())));
        for bad in [
            "",
            "?",
            "x",
            &URL_SAFE_NO_PAD.encode("dir:"),
            &URL_SAFE_NO_PAD.encode("show:x"),
        ] {
            assert_eq!(Key::parse(bad), None, "{bad}");
        }
        let key = Key::Folder("/tv/The Wire".to_owned());
        assert_eq!(
            (key.below("/tv"), key.below("/tv/")),
            (Some("The Wire"), Some("The Wire"))
        );
        assert_eq!((key.below("/t"), key.below("/tv/The Wire")), (None, None));
    }

    #[test]
    fn bunches_make_series() {
        let mut gathered = Gathered::default();
        let key = |title: &str| (Key::Title(title.to_owned()), title.to_owned());
        let bunch = |season, year, added| Bunch {
            season,
            episodes: 2,
            year,
            added,
            updated: added,
            ..Bunch::default()
        };
        gathered.add(key("b"), bunch(Some(1), Some(2003), 5));
        gathered.add(key("b"), bunch(Some(1), Some(2002), 7));
        gathered.add(key("b"), bunch(None, None, 6));
        gathered.add(key("A"), bunch(Some(2), None, 9));
        let all = gathered.all();
        let sorted = sorted(&all, None, Sort::YearDesc);
        let told: Vec<_> = sorted
            .iter()
            .map(|one| (&*one.title, one.year, one.episodes, one.seasons, one.added.ms()))
            .collect();
        assert_eq!(told, [("b", Some(2002), 6, 2, 7), ("A", None, 2, 1, 9)]);
    }
}
