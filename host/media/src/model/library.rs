//! Libraries as people keep them.

use std::collections::HashMap;

use qm_kernel::Timestamp;
pub use qm_media_names::Kind;
use serde::{Deserialize, Serialize};

/// Most characters of a name.
pub const MAX_NAME: usize = 200;
/// Most characters of a path.
pub const MAX_PATH: usize = 4096;
/// Most characters of a template of names.
pub const MAX_TEMPLATE: usize = 2000;
/// Most libraries.
pub const MAX_LIBRARIES: u64 = 500;
/// Longest interval of periodic scans, in minutes: a year.
pub const MAX_INTERVAL: i64 = 525_600;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $count:literal: $($variant:ident = $word:literal,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant,)+ }

        impl $name {
            pub const WORDS: [&str; $count] = [$($word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// Media server whose naming of files the library follows.
    Preset, 5:
    Plex = "plex",
    Jellyfin = "jellyfin",
    Emby = "emby",
    Kodi = "kodi",
    Custom = "custom",
}

words! {
    /// Manner in which files get their names.
    Mode, 5:
    RenameInPlace = "rename_in_place",
    RenameMove = "rename_move",
    Copy = "copy",
    Hardlink = "hardlink",
    Symlink = "symlink",
}

/// A directory that is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaLibrary {
    pub id: String,
    pub name: String,
    pub kind: Kind,
    /// Absolute.
    pub path: String,
    pub preset: Preset,
    pub template: Option<String>,
    pub mode: Mode,
    pub auto_organize: bool,
    pub is_enabled: bool,
    pub scan_interval_minutes: Option<i64>,
    pub last_scan_at: Option<Timestamp>,
    pub watch_enabled: bool,
    pub scan_on_startup: bool,
    pub nfo_enabled: bool,
    pub artwork_enabled: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// User who last said what the library does by itself: it does that for them. `None`: nobody knows.
    pub author: Option<String>,
}

impl MediaLibrary {
    /// A library by the defaults, without an id, a name and a path.
    pub fn new(now: Timestamp) -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            kind: Kind::Tv,
            path: String::new(),
            preset: Preset::Plex,
            template: None,
            mode: Mode::Hardlink,
            auto_organize: false,
            is_enabled: true,
            scan_interval_minutes: None,
            last_scan_at: None,
            watch_enabled: false,
            scan_on_startup: false,
            nfo_enabled: false,
            artwork_enabled: true,
            created_at: now,
            updated_at: now,
            author: None,
        }
    }

    /// True if a periodic scan is due.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let minutes = self.scan_interval_minutes.filter(|minutes| *minutes > 0);
        self.is_enabled
            && minutes.is_some_and(|minutes| {
                self.last_scan_at
                    .is_none_or(|at| now.ms() - at.ms() >= minutes * 60_000)
            })
    }

    pub fn apply(&mut self, change: LibraryChange) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut self.name, change.name);
        set(&mut self.path, change.path);
        set(&mut self.kind, change.kind);
        set(&mut self.preset, change.preset);
        set(&mut self.template, change.template);
        set(&mut self.mode, change.mode);
        set(&mut self.auto_organize, change.auto_organize);
        set(&mut self.is_enabled, change.is_enabled);
        set(&mut self.scan_interval_minutes, change.scan_interval_minutes);
        set(&mut self.watch_enabled, change.watch_enabled);
        set(&mut self.scan_on_startup, change.scan_on_startup);
        set(&mut self.nfo_enabled, change.nfo_enabled);
        set(&mut self.artwork_enabled, change.artwork_enabled);
    }
}

/// Fields of a new library, or changes to an existing one. `None` keeps a field.
#[derive(Clone, Debug, Default)]
pub struct LibraryChange {
    pub name: Option<String>,
    /// Path as it was sent; it is checked before it is stored.
    pub path: Option<String>,
    pub kind: Option<Kind>,
    pub preset: Option<Preset>,
    /// `Some(None)` clears it, as below.
    pub template: Option<Option<String>>,
    pub mode: Option<Mode>,
    pub auto_organize: Option<bool>,
    pub is_enabled: Option<bool>,
    pub scan_interval_minutes: Option<Option<i64>>,
    pub watch_enabled: Option<bool>,
    pub scan_on_startup: Option<bool>,
    pub nfo_enabled: Option<bool>,
    pub artwork_enabled: Option<bool>,
}

impl LibraryChange {
    /// True if it says what the library does by itself, or where and how. Who says so answers for it.
    pub const fn is_about_its_doing(&self) -> bool {
        self.path.is_some()
            || self.kind.is_some()
            || self.preset.is_some()
            || self.template.is_some()
            || self.mode.is_some()
            || self.auto_organize.is_some()
            || self.nfo_enabled.is_some()
            || self.artwork_enabled.is_some()
    }
}

/// Counts of what a scan found and changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScanSummary {
    /// Files that were found.
    pub scanned: u64,
    pub added: u64,
    pub updated: u64,
    pub removed: u64,
    pub shows: u64,
    /// Shows that have more than one folder.
    pub duplicate_shows: u64,
    /// Trailers, samples and other extras in the directories that were read.
    pub extras: u64,
    /// Other files in the directories that were read: no films, no episodes, no extras.
    pub passed_over: u64,
}

/// Directories of libraries, by their ids.
pub fn paths(libraries: Vec<MediaLibrary>) -> HashMap<String, String> {
    libraries
        .into_iter()
        .map(|library| (library.id, library.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_what_a_library_does_answers_for_it() {
        let named = LibraryChange {
            name: Some("a".to_owned()),
            is_enabled: Some(true),
            scan_interval_minutes: Some(None),
            ..LibraryChange::default()
        };
        assert!(!named.is_about_its_doing() && !LibraryChange::default().is_about_its_doing());
        let template = LibraryChange {
            template: Some(None),
            ..LibraryChange::default()
        };
        let organize = LibraryChange {
            auto_organize: Some(false),
            ..LibraryChange::default()
        };
        assert!(template.is_about_its_doing() && organize.is_about_its_doing());
    }

    #[test]
    fn a_library_is_due_when_its_interval_has_passed() {
        let now = Timestamp::from_ms(100 * 60_000);
        let mut library = MediaLibrary::new(now);
        assert!(!library.is_due(now), "no interval");
        library.scan_interval_minutes = Some(10);
        assert!(library.is_due(now), "never scanned");
        library.last_scan_at = Some(Timestamp::from_ms(91 * 60_000));
        assert!(!library.is_due(now));
        library.last_scan_at = Some(Timestamp::from_ms(90 * 60_000));
        assert!(library.is_due(now));
        library.is_enabled = false;
        assert!(!library.is_due(now));
        (library.is_enabled, library.scan_interval_minutes) = (true, Some(0));
        assert!(!library.is_due(now));
    }
}
