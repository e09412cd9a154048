//! Requests of clients.

use qm_media::dto::fields::MAX_TEXT;
use qm_web::FromBody;
use utoipa::ToSchema;

use qm_media::model::library::{
    Kind, LibraryChange, MAX_INTERVAL, MAX_NAME, MAX_PATH, MAX_TEMPLATE, Mode, Preset,
};

/// A library to make, or what changes of one; what is absent stays, or is as usual.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaLibraryInput)]
#[fields(open)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct LibraryInput {
    #[field(max = MAX_NAME)]
    pub name: Option<String>,
    /// A directory inside the roots of the file manager; it need not be there yet.
    #[field(max = MAX_PATH)]
    pub path: Option<String>,
    /// `tv`, `anime`, `movie`, `music`, `audiobook` or `general`
    #[field(words(&Kind::WORDS, Kind::from_word))]
    #[schema(value_type = Option<String>)]
    pub kind: Option<Kind>,
    /// `plex`, `jellyfin`, `emby`, `kodi` or `custom`
    #[field(words(&Preset::WORDS, Preset::from_word))]
    #[schema(value_type = Option<String>)]
    pub preset: Option<Preset>,
    /// Null clears it.
    #[field(max = MAX_TEMPLATE)]
    #[schema(value_type = Option<String>)]
    pub template: Option<Option<String>>,
    /// `rename_in_place`, `rename_move`, `copy`, `hardlink` or `symlink`
    // An unknown word has an error of its own.
    #[field(max = MAX_TEXT)]
    pub mode: Option<String>,
    pub auto_organize: Option<bool>,
    pub is_enabled: Option<bool>,
    /// Null, or 0: no periodic scan.
    #[field(min = 0, max = MAX_INTERVAL)]
    #[schema(value_type = Option<i64>)]
    pub scan_interval_minutes: Option<Option<i64>>,
    pub watch_enabled: Option<bool>,
    pub scan_on_startup: Option<bool>,
    pub nfo_enabled: Option<bool>,
    pub artwork_enabled: Option<bool>,
}

impl LibraryInput {
    /// Changes to a library, and the mode word if it is unknown.
    pub fn into_change(self) -> (LibraryChange, Option<String>) {
        let mode = self.mode.as_deref().map(Mode::from_word);
        let unknown = match (mode, self.mode) {
            (Some(None), word) => word,
            _ => None,
        };
        let change = LibraryChange {
            name: self.name.map(|name| name.trim().to_owned()),
            path: self.path,
            kind: self.kind,
            preset: self.preset,
            template: self.template,
            mode: mode.flatten(),
            auto_organize: self.auto_organize,
            is_enabled: self.is_enabled,
            scan_interval_minutes: self.scan_interval_minutes,
            watch_enabled: self.watch_enabled,
            scan_on_startup: self.scan_on_startup,
            nfo_enabled: self.nfo_enabled,
            artwork_enabled: self.artwork_enabled,
        };
        (change, unknown)
    }
}
