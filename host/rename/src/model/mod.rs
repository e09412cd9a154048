//! Stored presets, settings and runs of renames. Pure.

pub mod request;
pub mod run;

use qm_kernel::Timestamp;
use qm_release::Release;
use qm_rename_plan::{Content, Mode, Plan, Preset, Templates};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Most stored presets.
pub const MAX_PRESETS: u64 = 100;
/// Most patterns of files that are removed.
pub const MAX_GLOBS: usize = 100;
/// Most files of a folder whose names are planned.
pub const MAX_FILES: usize = 20_000;
/// Most languages of subtitles that are kept.
pub const MAX_LANGUAGES: usize = 50;

/// Plan of a request.
#[derive(Debug)]
pub struct Planned {
    pub mode: Mode,
    pub preset: String,
    pub library: Option<String>,
    pub kind: Content,
    /// Reading of the name of the source.
    pub parsed: Release,
    pub plan: Plan,
}

/// Templates that a stored preset has of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnTemplates {
    pub tv: Option<String>,
    pub anime: Option<String>,
    pub movie: Option<String>,
}

/// A preset that somebody stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPreset {
    pub id: String,
    pub name: String,
    /// Preset that gives the other templates.
    pub base: Preset,
    pub own: OwnTemplates,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl StoredPreset {
    /// Templates of all kinds.
    pub fn templates(&self) -> Templates {
        let base = self.base.templates();
        let own = &self.own;
        // Anime is named like other series, unless somebody says otherwise.
        let anime = own.anime.clone().or_else(|| own.tv.clone());
        Templates {
            tv: own.tv.clone().unwrap_or(base.tv),
            anime: anime.unwrap_or(base.anime),
            movie: own.movie.clone().unwrap_or(base.movie),
            ..base
        }
    }
}

/// Wishes about other files, when a rename moves media files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    pub enabled: bool,
    pub delete_globs: Vec<String>,
    pub subtitle_keep_languages: Vec<String>,
    pub prune_empty_dirs: bool,
    pub remove_leftover_torrent: bool,
}

impl Cleanup {
    /// Value as it was stored; a member that cannot be read is as if it were not there.
    pub fn from_object(stored: &Map<String, Value>) -> Self {
        let flag = |name: &str| stored.get(name).and_then(Value::as_bool).unwrap_or_default();
        let texts = |name: &str| {
            let list = stored.get(name).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Self {
            enabled: flag("enabled"),
            delete_globs: texts("deleteGlobs"),
            subtitle_keep_languages: texts("subtitleKeepLanguages"),
            prune_empty_dirs: flag("pruneEmptyDirs"),
            remove_leftover_torrent: flag("removeLeftoverTorrent"),
        }
    }

    pub fn to_object(&self) -> Map<String, Value> {
        let value = json!({
            "enabled": self.enabled,
            "deleteGlobs": self.delete_globs,
            "subtitleKeepLanguages": self.subtitle_keep_languages,
            "pruneEmptyDirs": self.prune_empty_dirs,
            "removeLeftoverTorrent": self.remove_leftover_torrent,
        });
        object(value)
    }

    /// Wishes as a plan takes them.
    pub fn to_plan(&self) -> qm_rename_plan::Cleanup {
        qm_rename_plan::Cleanup {
            enabled: self.enabled,
            delete_globs: self.delete_globs.clone(),
            keep_languages: self.subtitle_keep_languages.clone(),
        }
    }
}

/// Change of [`Cleanup`]: what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupChange {
    pub enabled: Option<bool>,
    pub delete_globs: Option<Vec<String>>,
    pub subtitle_keep_languages: Option<Vec<String>>,
    pub prune_empty_dirs: Option<bool>,
    pub remove_leftover_torrent: Option<bool>,
}

impl CleanupChange {
    /// Settings after the change; texts without their spaces, blank ones dropped.
    pub fn apply(self, known: Cleanup) -> Cleanup {
        let trimmed = |texts: Vec<String>| -> Vec<String> {
            let texts = texts.iter().map(|text| text.trim().to_owned());
            texts.filter(|text| !text.is_empty()).collect()
        };
        let lower = |texts: Vec<String>| trimmed(texts).iter().map(|text| text.to_lowercase()).collect();
        Cleanup {
            enabled: self.enabled.unwrap_or(known.enabled),
            delete_globs: self.delete_globs.map_or(known.delete_globs, trimmed),
            subtitle_keep_languages: self
                .subtitle_keep_languages
                .map_or(known.subtitle_keep_languages, lower),
            prune_empty_dirs: self.prune_empty_dirs.unwrap_or(known.prune_empty_dirs),
            remove_leftover_torrent: self
                .remove_leftover_torrent
                .unwrap_or(known.remove_leftover_torrent),
        }
    }
}

/// Action on a torrent whose files a rename has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seeding {
    /// It is removed, and its data stays.
    #[default]
    Remove,
    /// It stays, and is counted.
    Report,
    Ignore,
}

impl Seeding {
    pub const WORDS: [&str; 3] = ["remove", "report", "ignore"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Seeding::Remove => "remove",
            Seeding::Report => "report",
            Seeding::Ignore => "ignore",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "remove" => Some(Seeding::Remove),
            "report" => Some(Seeding::Report),
            "ignore" => Some(Seeding::Ignore),
            _ => None,
        }
    }

    pub fn from_object(stored: &Map<String, Value>) -> Self {
        let word = stored.get("action").and_then(Value::as_str);
        word.and_then(Self::from_word).unwrap_or_default()
    }

    pub fn to_object(self) -> Map<String, Value> {
        object(json!({ "action": self.as_str() }))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_member_by_member() {
        let odd = json!({ "enabled": "yes", "deleteGlobs": ["*.txt", 5], "pruneEmptyDirs": true, "more": 1 });
        let read = Cleanup::from_object(&object(odd));
        let expected = Cleanup {
            delete_globs: vec!["*.txt".to_owned()],
            prune_empty_dirs: true,
            ..Cleanup::default()
        };
        assert_eq!(read, expected);
        assert_eq!(Cleanup::from_object(&expected.to_object()), expected);
        let change = CleanupChange {
            subtitle_keep_languages: Some(vec![" EN ".to_owned(), " ".to_owned()]),
            ..CleanupChange::default()
        };
        let changed = change.apply(expected.clone());
        assert_eq!(changed.subtitle_keep_languages, ["en"]);
        assert_eq!(changed.delete_globs, expected.delete_globs);
        for word in Seeding::WORDS {
            let action = Seeding::from_word(word).unwrap();
            assert_eq!(Seeding::from_object(&action.to_object()), action);
        }
        assert_eq!(Seeding::from_object(&Map::new()), Seeding::Remove);
    }

    #[test]
    fn a_stored_preset_takes_the_rest_from_its_base() {
        let preset = StoredPreset {
            id: "p".to_owned(),
            name: "Mine".to_owned(),
            base: Preset::Kodi,
            own: OwnTemplates {
                tv: Some("{Series Title}/{episode}.{ext}".to_owned()),
                ..OwnTemplates::default()
            },
            created_at: Timestamp::from_ms(0),
            updated_at: Timestamp::from_ms(0),
        };
        let templates = preset.templates();
        assert_eq!(templates.anime, templates.tv);
        assert_eq!(templates.movie, Preset::Kodi.templates().movie);
    }
}
