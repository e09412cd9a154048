//! Requests of clients.

use qm_media::dto::fields::MAX_TEXT;
use qm_web::{Fields, FromBody};
use utoipa::ToSchema;

use qm_media::model::library::{
    Kind, LibraryChange, MAX_INTERVAL, MAX_NAME, MAX_PATH, MAX_TEMPLATE, Mode, Preset,
};

/// A library to make, or what changes of one; what is absent stays, or is as usual.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaLibraryInput)]
pub struct LibraryInput {
    pub name: Option<String>,
    /// A directory inside the roots of the file manager; it need not be there yet.
    pub path: Option<String>,
    /// `tv`, `anime`, `movie`, `music`, `audiobook` or `general`
    pub kind: Option<String>,
    /// `plex`, `jellyfin`, `emby`, `kodi` or `custom`
    pub preset: Option<String>,
    /// Null clears it.
    pub template: Option<String>,
    /// `rename_in_place`, `rename_move`, `copy`, `hardlink` or `symlink`
    pub mode: Option<String>,
    pub auto_organize: Option<bool>,
    pub is_enabled: Option<bool>,
    /// Null, or 0: no periodic scan.
    pub scan_interval_minutes: Option<i64>,
    pub watch_enabled: Option<bool>,
    pub scan_on_startup: Option<bool>,
    pub nfo_enabled: Option<bool>,
    pub artwork_enabled: Option<bool>,
    #[schema(ignore)]
    template_is_null: bool,
    #[schema(ignore)]
    interval_is_null: bool,
}

impl FromBody for LibraryInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            template_is_null: f.is_null("template"),
            interval_is_null: f.is_null("scanIntervalMinutes"),
            name: f.string("name").max(MAX_NAME).optional(),
            path: f.string("path").max(MAX_PATH).optional(),
            kind: f.string("kind").one_of(&Kind::WORDS).optional(),
            preset: f.string("preset").one_of(&Preset::WORDS).optional(),
            template: f.string("template").max(MAX_TEMPLATE).optional(),
            // What it may be is said by an error of its own.
            mode: f.string("mode").max(MAX_TEXT).optional(),
            auto_organize: f.boolean("autoOrganize").optional(),
            is_enabled: f.boolean("isEnabled").optional(),
            scan_interval_minutes: f
                .integer("scanIntervalMinutes")
                .min(0)
                .max(MAX_INTERVAL)
                .optional(),
            watch_enabled: f.boolean("watchEnabled").optional(),
            scan_on_startup: f.boolean("scanOnStartup").optional(),
            nfo_enabled: f.boolean("nfoEnabled").optional(),
            artwork_enabled: f.boolean("artworkEnabled").optional(),
        }
    }
}

impl LibraryInput {
    /// Changes to a library, and the mode word if it is unknown.
    pub fn into_change(self) -> (LibraryChange, Option<String>) {
        let mode = self.mode.as_deref().map(Mode::of);
        let unknown = match (mode, self.mode) {
            (Some(None), word) => word,
            _ => None,
        };
        let change = LibraryChange {
            name: self.name.map(|name| name.trim().to_owned()),
            path: self.path,
            kind: self.kind.as_deref().and_then(Kind::of),
            preset: self.preset.as_deref().and_then(Preset::of),
            template: self.template.map(Some).or(self.template_is_null.then_some(None)),
            mode: mode.flatten(),
            auto_organize: self.auto_organize,
            is_enabled: self.is_enabled,
            scan_interval_minutes: self
                .scan_interval_minutes
                .map(Some)
                .or(self.interval_is_null.then_some(None)),
            watch_enabled: self.watch_enabled,
            scan_on_startup: self.scan_on_startup,
            nfo_enabled: self.nfo_enabled,
            artwork_enabled: self.artwork_enabled,
        };
        (change, unknown)
    }
}
