//! Orders for many items at once: their limits, options and answers.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use qm_media_names::name::{is_container, is_season};
use qm_media_names::place;

/// Largest number of items in one order.
pub const MOST: usize = 1000;

/// Answer to an accepted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Id of the job that carries out the order; `None`: the order is done already.
    pub job_id: Option<String>,
    pub count: usize,
    /// Ids that belong to no item.
    pub missing: Vec<String>,
}

/// Manner in which an order deletes files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    pub torrents: TorrentAction,
    /// True: data that other torrents use is kept; false: if there is any, nothing is deleted at all.
    pub keep_shared: bool,
}

/// Treatment of the torrents whose data is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TorrentAction {
    #[default]
    Keep,
    Stop,
    StopAndDelete,
}

impl TorrentAction {
    pub const WORDS: [&str; 3] = ["keep", "stop", "stop_and_delete"];

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "keep" => Some(TorrentAction::Keep),
            "stop" => Some(TorrentAction::Stop),
            "stop_and_delete" => Some(TorrentAction::StopAndDelete),
            _ => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            TorrentAction::Keep => "keep",
            TorrentAction::Stop => "stop",
            TorrentAction::StopAndDelete => "stop_and_delete",
        }
    }
}

/// A torrent whose data includes files of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTorrent {
    pub hash: String,
    pub engine_id: String,
    pub name: String,
    pub path: String,
    pub state: &'static str,
    /// Bytes below its path, as far as they lie inside the roots.
    pub size: u64,
    pub item_ids: Vec<String>,
}

/// Folder that is moved or deleted together with an item: its own folder or, if that is one of a season, the folder of its
/// show. `None`: the file goes alone. `is_owned`: true if a folder holds nothing that stays.
pub fn folder_along(item: &str, is_owned: impl Fn(&str) -> bool) -> Option<String> {
    let mut folder = place::parent(item).filter(|folder| !folder.is_empty() && is_owned(folder))?;
    loop {
        let shown = place::shown(&folder);
        let name = shown.rsplit('/').next().unwrap_or_default();
        if !is_container(name) && !is_season(name) {
            return Some(folder);
        }
        folder = place::parent(&folder).filter(|above| !above.is_empty() && is_owned(above))?;
    }
}

/// Place of a file below `folder` after that folder was moved right into another library.
pub fn moved(item: &str, folder: &str) -> String {
    let (path, folder) = (place::decode(item), place::decode(folder));
    let above = folder
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    place::encode(&path[above..])
}

/// The ids without repetitions, in their order.
pub fn once(ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_along_that_holds_nothing_else() {
        let all = |_: &str| true;
        let only = |owned: &'static [&'static str]| move |folder: &str| owned.contains(&folder);
        assert_eq!(
            folder_along("Tide (2003)/Tide.mkv", all).as_deref(),
            Some("Tide (2003)")
        );
        assert_eq!(folder_along("Tide.mkv", all), None);
        assert_eq!(folder_along("Tide (2003)/Tide.mkv", only(&[])), None);
        assert_eq!(folder_along("Wire/Season 1/a.mkv", all).as_deref(), Some("Wire"));
        assert_eq!(
            folder_along("Wire/Season 1/a.mkv", only(&["Wire/Season 1"])),
            None,
            "a season alone has no show"
        );
        assert_eq!(folder_along("Season 1/a.mkv", all), None);
        assert_eq!(
            folder_along("A/Tide (2003)/Tide.mkv", all).as_deref(),
            Some("A/Tide (2003)")
        );
        for (item, folder, expected) in [
            ("A/Tide/x/Tide.mkv", "A/Tide", "Tide/x/Tide.mkv"),
            ("Tide/Tide.mkv", "Tide", "Tide/Tide.mkv"),
            ("A/Tide.mkv", "A/Tide.mkv", "Tide.mkv"),
        ] {
            assert_eq!(moved(item, folder), expected);
        }
        let odd = place::encode(b"A/\xff/Tide.mkv");
        assert_eq!(
            moved(&odd, &place::encode(b"A/\xff")),
            place::encode(b"\xff/Tide.mkv")
        );
        assert_eq!(once(vec!["a".into(), "b".into(), "a".into()]), ["a", "b"]);
    }
}
