//! Request and response types.

mod runs;

use qm_kernel::Timestamp;
use qm_media_names::Kind;
use qm_rename_plan::{Explanation, Item, MAX_TEMPLATE, Mode, Origin, Preset, Templates, Token};
use qm_web::{FromBody, FromQuery, is_printable};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::request::{Request, Wanted};
use crate::model::{
    Cleanup, CleanupChange, MAX_GLOBS, MAX_LANGUAGES, OwnTemplates, Planned, Seeding, StoredPreset,
};

pub use runs::{
    AppliedView, HistoryPage, HistoryQuery, OrganizeQuery, OrganizedView, RunOperationsView, UndoInput,
    UndoView, UndoableView,
};

const MAX_PRESET_NAME: usize = 120;
const MAX_ID: usize = 100;
const MAX_PATH: usize = 4096;
const MAX_TEXT: usize = 1024;
/// Most names of a preview.
const MAX_NAMES: usize = 1000;
const MAX_GLOB: usize = 255;
const MAX_LANGUAGE: usize = 20;
const BASES: &[&str] = &["plex", "jellyfin", "emby", "kodi"];

/// Templates of a preset, one for each kind of content.
#[derive(Serialize, ToSchema)]
#[schema(as = NameTemplates)]
pub struct TemplatesView {
    pub tv: String,
    pub anime: String,
    pub movie: String,
    /// Shown only: artist and album are not read from names.
    pub music: String,
    /// Shown only, like that of music.
    pub audiobook: String,
}

impl From<Templates> for TemplatesView {
    fn from(templates: Templates) -> Self {
        Self {
            tv: templates.tv,
            anime: templates.anime,
            movie: templates.movie,
            music: templates.music,
            audiobook: templates.audiobook,
        }
    }
}

/// Presets that come with the server. The preset `custom` has no templates: without one of its own it is that of Plex.
#[derive(Serialize, ToSchema)]
#[schema(as = NamePresets)]
pub struct PresetsView {
    pub plex: TemplatesView,
    pub jellyfin: TemplatesView,
    pub emby: TemplatesView,
    pub kodi: TemplatesView,
}

impl PresetsView {
    pub fn new() -> Self {
        let of = |preset: Preset| TemplatesView::from(preset.templates());
        Self {
            plex: of(Preset::Plex),
            jellyfin: of(Preset::Jellyfin),
            emby: of(Preset::Emby),
            kodi: of(Preset::Kodi),
        }
    }
}

/// A preset to store.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NamePresetInput)]
pub struct PresetInput {
    /// Name, which no other preset has. Up to 120 characters.
    #[field(trim, not_empty, max = MAX_PRESET_NAME, check(is_printable, "must not contain control characters"))]
    #[schema(example = "With editions")]
    pub name: String,
    /// Preset that gives the templates which are left out: `plex`, `jellyfin`, `emby` or `kodi`.
    #[field(one_of = BASES, default = "plex".to_owned())]
    pub base: String,
    /// Template of episodes, and of anime if it has none of its own.
    #[field(max = MAX_TEMPLATE)]
    #[schema(
        example = "{Series Title}/Season {season:00}/{Series Title} - S{season:00}E{episode:00} - {Episode Title}.{ext}"
    )]
    pub tv: Option<String>,
    #[field(max = MAX_TEMPLATE)]
    pub anime: Option<String>,
    #[field(max = MAX_TEMPLATE)]
    pub movie: Option<String>,
}

impl PresetInput {
    /// Name, base and templates; blank templates are none.
    pub fn into_parts(self) -> (String, Preset, OwnTemplates) {
        let written = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let own = OwnTemplates {
            tv: written(self.tv),
            anime: written(self.anime),
            movie: written(self.movie),
        };
        (self.name, Preset::from_word(&self.base).unwrap_or_default(), own)
    }
}

/// A stored preset.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NamePreset)]
pub struct PresetView {
    pub id: String,
    pub name: String,
    /// Preset that gives the templates which are null.
    pub base: &'static str,
    pub tv: Option<String>,
    pub anime: Option<String>,
    pub movie: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<StoredPreset> for PresetView {
    fn from(preset: StoredPreset) -> Self {
        Self {
            id: preset.id,
            name: preset.name,
            base: preset.base.as_str(),
            tv: preset.own.tv,
            anime: preset.own.anime,
            movie: preset.own.movie,
            created_at: preset.created_at,
            updated_at: preset.updated_at,
        }
    }
}

/// Stored presets.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredNamePresets)]
pub struct PresetList {
    /// In the order of their names.
    pub items: Vec<PresetView>,
}

/// Question about one name.
#[derive(ToSchema, FromQuery)]
#[schema(rename_all = "camelCase")]
pub struct ExplainQuery {
    /// Name of a file, with folders above it if they help: `The Wire (2002)/Season 1/01.mkv`.
    #[field(not_empty, max = MAX_TEXT)]
    pub name: String,
    /// Kind of the library that it is read for; without one the name decides.
    #[field(words(&Kind::WORDS, Kind::from_word))]
    #[schema(value_type = Option<String>)]
    pub kind: Option<Kind>,
}

/// Origin of a value.
#[derive(Serialize, ToSchema)]
#[schema(as = NameValueOrigin)]
pub struct OriginView {
    /// `name` (of the file), `folder`, `sourceName`, `library` or `default`.
    pub place: &'static str,
    /// Text as it is written there, where it is known.
    pub token: Option<String>,
    /// Rule that decided, in a few words.
    pub rule: &'static str,
}

impl From<Origin> for OriginView {
    fn from(origin: Origin) -> Self {
        Self {
            place: origin.place,
            token: origin.token,
            rule: origin.rule,
        }
    }
}

/// A token, and its value for a name.
#[derive(Serialize, ToSchema)]
#[schema(as = ExplainedToken)]
pub struct TokenView {
    /// Name without its braces, e.g. `Series Title`.
    pub token: &'static str,
    /// Null: the name does not say it, and nothing stands in its place.
    pub value: Option<String>,
    /// True if the template has it.
    pub used: bool,
    pub from: Option<OriginView>,
}

/// A part of a name, and its meaning.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ExplainedPart)]
pub struct PartView {
    pub token: String,
    /// e.g. `title`, `episode`, `resolution`; `ignored`.
    pub taken_for: &'static str,
    pub rule: &'static str,
}

/// Explanation of the new name of a file.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NameExplanation)]
pub struct ExplanationView {
    /// As it was asked for.
    pub name: String,
    pub preset: String,
    /// `tv`, `anime`, `movie` or `general`.
    pub kind: &'static str,
    /// Template that was chosen for this kind.
    pub template: String,
    /// Path below the library's directory; null: the file keeps its name.
    pub destination: Option<String>,
    /// Reason why it keeps its name.
    pub refusal: Option<String>,
    /// Tokens of the template in their order, then others that have a value.
    pub tokens: Vec<TokenView>,
    /// Parts of the file's own name, in their order.
    pub parts: Vec<PartView>,
}

impl ExplanationView {
    pub fn new(name: String, preset: String, found: Explanation) -> Self {
        let (destination, refusal) = match found.destination {
            Ok(path) => (Some(path), None),
            Err(refusal) => (None, Some(refusal.to_string())),
        };
        let tokens = found.tokens.into_iter().map(|one| TokenView {
            token: Token::name(one.token),
            value: one.value,
            used: one.is_used,
            from: one.from.map(OriginView::from),
        });
        let parts = found.parts.into_iter().map(|part| PartView {
            token: part.token,
            taken_for: part.taken_for,
            rule: part.rule,
        });
        Self {
            name,
            preset,
            kind: found.reading.content.as_str(),
            template: found.template,
            destination,
            refusal,
            tokens: tokens.collect(),
            parts: parts.collect(),
        }
    }
}

/// A rename: of `names` alone (a preview only), of a torrent's data, or of a file or folder. `planId`, `sourceTorrentHash`, `label`
/// and `dryRun` mean nothing to a preview.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = RenameRequest)]
#[fields(open)]
pub struct RenameInput {
    /// Directory of the library, absolute. Needed for files; with `names` alone destinations are relative without it.
    #[field(trim, max = MAX_PATH)]
    pub library_path: Option<String>,
    /// Info-hash of a torrent whose data is named.
    #[field(max = MAX_ID)]
    pub hash: Option<String>,
    /// Engine of the torrent; without one the first that has it.
    #[field(max = MAX_ID)]
    pub engine_id: Option<String>,
    /// File or folder in the storage roots, absolute.
    #[field(max = MAX_PATH)]
    pub path: Option<String>,
    /// Names of files without any files: what would these be called? With folders above them if they help. They count before a
    /// torrent and a path.
    #[field(max_items = MAX_NAMES, each_max = MAX_TEXT, default)]
    pub names: Vec<String>,
    /// `plex`, `jellyfin`, `emby`, `kodi`, `custom`, or the id of a stored preset.
    #[field(not_empty, max = MAX_ID, default = "plex".to_owned())]
    pub preset: String,
    /// Manner in which the files would get their names.
    #[field(words(&Mode::WORDS, Mode::from_word), default)]
    #[schema(value_type = Option<String>)]
    pub mode: Mode,
    /// Template for all kinds, in place of those of the preset.
    #[field(max = MAX_TEMPLATE)]
    pub template: Option<String>,
    /// Kind of the library; without one that of the library at `libraryPath`, or the names decide.
    #[field(words(&Kind::WORDS, Kind::from_word))]
    #[schema(value_type = Option<String>)]
    pub kind: Option<Kind>,
    /// Name that says what the source is; without one that of the torrent.
    #[field(max = MAX_TEXT)]
    pub source_name: Option<String>,
    /// Id that a preview gave to its plan: the files are renamed as it showed, and those that changed since are skipped and
    /// named. `mode` has to be that of the preview. Without one, the plan is made now.
    #[field(not_empty, max = MAX_ID)]
    pub plan_id: Option<String>,
    /// Info-hash of the torrent that the files came from, for the history.
    #[field(max = MAX_ID)]
    pub source_torrent_hash: Option<String>,
    /// Name of the run in the audit.
    #[field(max = MAX_TEXT)]
    pub label: Option<String>,
    /// True to change nothing, in whatever mode.
    #[field(default)]
    pub dry_run: bool,
}

impl RenameInput {
    pub fn into_wanted(self) -> Wanted {
        let request = Request {
            library: self.library_path,
            hash: self.hash,
            engine_id: self.engine_id,
            path: self.path,
            names: self.names,
            preset: self.preset,
            mode: self.mode,
            template: self.template,
            kind: self.kind,
            source_name: self.source_name,
        };
        Wanted {
            request,
            plan_id: self.plan_id,
            is_dry: self.dry_run,
            source_torrent: self.source_torrent_hash,
            label: self.label,
        }
    }
}

/// A file of a plan.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RenamePlanItem)]
pub struct ItemView {
    pub source: String,
    /// Null: it stays, or is deleted.
    pub destination: Option<String>,
    /// `rename`, `move`, `copy`, `hardlink`, `symlink`, `delete` or `skip`.
    pub action: &'static str,
    /// `tv`, `anime`, `movie`, `music`, `audiobook` or `general`.
    pub kind: &'static str,
    pub reason: String,
    pub skipped: bool,
    pub is_subtitle: bool,
    pub is_sample: bool,
    pub is_extra: bool,
    /// True if it has that name already.
    pub unchanged: bool,
}

impl From<Item> for ItemView {
    fn from(item: Item) -> Self {
        Self {
            action: item.action.as_str(),
            kind: item.kind.as_str(),
            skipped: item.is_skipped(),
            source: item.source,
            destination: item.destination,
            reason: item.reason,
            is_subtitle: item.is_subtitle,
            is_sample: item.is_sample,
            is_extra: item.is_extra,
            unchanged: item.is_unchanged,
        }
    }
}

/// Plan of a rename.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RenamePlan)]
pub struct PlanView {
    pub mode: &'static str,
    pub preset: String,
    pub library_path: Option<String>,
    /// Kind of the first file that gets a name.
    pub kind: &'static str,
    /// Fields that the reader of release names found in the name of the source.
    #[schema(value_type = Value)]
    pub parsed: Value,
    /// Deletions first, then media, subtitles, and other files that travel with them.
    pub items: Vec<ItemView>,
    pub warnings: Vec<String>,
    /// Id for `POST /api/media/apply`, which then does what is shown here. Kept for a quarter of an hour. Null: the mode is
    /// `preview`, there are no files, or the caller may not rename.
    pub plan_id: Option<String>,
}

impl PlanView {
    pub fn new(planned: &Planned, plan_id: Option<String>) -> Self {
        Self {
            plan_id,
            mode: planned.mode.as_str(),
            preset: planned.preset.clone(),
            library_path: planned.library.clone(),
            kind: planned.kind.as_str(),
            parsed: serde_json::to_value(&planned.parsed).unwrap_or_default(),
            items: planned.plan.items.iter().cloned().map(ItemView::from).collect(),
            warnings: planned.plan.warnings.clone(),
        }
    }
}

/// Change of the rules for other files; what is left out stays.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaCleanupChange)]
#[fields(open)]
pub struct CleanupInput {
    pub enabled: Option<bool>,
    /// Patterns of whole names of files that are deleted: `*` for any text, `?` for any letter. Videos are never deleted,
    /// samples may be.
    #[field(max_items = MAX_GLOBS, each_max = MAX_GLOB)]
    pub delete_globs: Option<Vec<String>>,
    /// Languages of subtitles that stay; empty: all of them.
    #[field(max_items = MAX_LANGUAGES, each_max = MAX_LANGUAGE)]
    pub subtitle_keep_languages: Option<Vec<String>>,
    pub prune_empty_dirs: Option<bool>,
    pub remove_leftover_torrent: Option<bool>,
}

impl CleanupInput {
    pub fn into_change(self) -> CleanupChange {
        CleanupChange {
            enabled: self.enabled,
            delete_globs: self.delete_globs,
            subtitle_keep_languages: self.subtitle_keep_languages,
            prune_empty_dirs: self.prune_empty_dirs,
            remove_leftover_torrent: self.remove_leftover_torrent,
        }
    }
}

/// Rules for other files, where a rename moves media files (`rename_in_place`, `rename_move`).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaCleanup)]
pub struct CleanupView {
    pub enabled: bool,
    pub delete_globs: Vec<String>,
    /// In small letters.
    pub subtitle_keep_languages: Vec<String>,
    pub prune_empty_dirs: bool,
    pub remove_leftover_torrent: bool,
}

impl From<Cleanup> for CleanupView {
    fn from(cleanup: Cleanup) -> Self {
        Self {
            enabled: cleanup.enabled,
            delete_globs: cleanup.delete_globs,
            subtitle_keep_languages: cleanup.subtitle_keep_languages,
            prune_empty_dirs: cleanup.prune_empty_dirs,
            remove_leftover_torrent: cleanup.remove_leftover_torrent,
        }
    }
}

/// Action on a torrent whose files a rename has moved, to store.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaSeedingTorrentChange)]
#[fields(open)]
pub struct SeedingInput {
    /// `remove` (its data stays), `report` (it stays, and is counted) or `ignore`.
    #[field(words(&Seeding::WORDS, Seeding::from_word), stand_in = Seeding::Remove)]
    #[schema(value_type = String)]
    pub action: Seeding,
}

/// Action on a torrent whose files a rename has moved.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSeedingTorrent)]
pub struct SeedingView {
    /// `remove`, `report` or `ignore`.
    pub action: &'static str,
}
