//! Wishes as they are sent, and created torrents as they are answered.

use qm_confined::{FsError, RelPath};
use qm_kernel::{PageQuery, Timestamp};
use qm_metainfo::create::{Format, MAX_ADDRESSES};
use qm_web::{Fields, FromBody, FromQuery, is_printable};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Choices, CreatedTorrent, FORMATS, Seeding, Wish, format_of, format_word};

const MAX_NAME: usize = 200;
const MAX_LABEL: usize = 255;
const MAX_COMMENT: usize = 4096;
const MAX_ADDRESS: usize = 2048;
const MAX_ID: usize = 200;
const MAX_CATEGORY: usize = 500;
const MAX_TAGS: usize = 100;
const MAX_TAG: usize = 200;
const MAX_PAGE: u64 = 100;

/// A path as it came: by its text or by its bytes.
pub enum WirePath {
    Text(String),
    /// Percent-encoded; wins where both are given.
    Raw(String),
}

impl WirePath {
    pub fn rel(&self) -> Result<RelPath, FsError> {
        match self {
            WirePath::Text(text) => RelPath::from_text(text),
            WirePath::Raw(raw) => RelPath::from_raw(raw),
        }
    }
}

/// A torrent to create.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = CreateTorrent)]
#[fields(check = check_choices)]
pub struct CreateInput {
    /// The file or folder, relative to the root in effect of the file manager; `pathRaw` names it by its percent-encoded
    /// bytes instead. The torrent has its name, because clients look for the content under that name.
    #[field(with = read_path)]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// Name under which it is listed and downloaded; absent: that of the file or folder. Up to 200 characters.
    #[field(trim, not_empty, max = MAX_NAME, check(is_printable, "must not contain control characters"))]
    pub name: Option<String>,
    /// `v1`, which is the default, or `hybrid`.
    #[field(one_of = FORMATS)]
    pub format: Option<String>,
    /// Bytes of a piece: a power of two from 16384 to 67108864; absent: by the size of the content.
    pub piece_size: Option<u64>,
    /// Clients get peers from the trackers alone.
    #[field(default)]
    pub private: bool,
    /// Label that makes the info-hash differ from that of the same content elsewhere.
    #[field(max = MAX_LABEL)]
    pub source: Option<String>,
    /// Announce addresses in tiers, 100 at most.
    #[field(with = read_trackers)]
    #[schema(value_type = Option<Vec<Vec<String>>>)]
    pub trackers: Option<Vec<Vec<String>>>,
    /// Addresses of the content, 100 at most.
    #[field(max_items = MAX_ADDRESSES, each_max = MAX_ADDRESS, default)]
    pub web_seeds: Vec<String>,
    #[field(max = MAX_COMMENT)]
    pub comment: Option<String>,
    /// The engine that seeds it at once.
    #[field(with = read_seed)]
    pub seed: Option<SeedInput>,
}

/// An engine that seeds a torrent, from the directory where its content is.
#[derive(Default, ToSchema)]
#[schema(rename_all = "camelCase", as = CreatedTorrentSeed)]
pub struct SeedInput {
    pub engine_id: String,
    /// Up to 500 characters.
    #[schema(required = false)]
    pub category: Option<String>,
    /// At most 100, of up to 200 characters each.
    #[schema(required = false)]
    pub tags: Vec<String>,
    #[schema(required = false)]
    pub start_paused: bool,
}

const SEED_KEYS: &[&str] = &["engineId", "category", "tags", "startPaused"];

fn read_path(f: &mut Fields<'_>, name: &'static str) -> WirePath {
    const RAW: &str = "pathRaw";
    f.either(name, RAW);
    match f.string(RAW).optional() {
        Some(bytes) => {
            f.string(name).optional();
            WirePath::Raw(bytes)
        }
        None => WirePath::Text(f.string(name).required().get()),
    }
}

fn read_trackers(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<Vec<String>>> {
    let Value::Array(tiers) = f.any(name).optional()? else {
        f.broken(format!("{name} must be an array"));
        return None;
    };
    if tiers.len() > MAX_ADDRESSES {
        f.broken(format!(
            "{name} must contain no more than {MAX_ADDRESSES} elements"
        ));
        return None;
    }
    // Counted before anything is copied.
    let count: usize = tiers.iter().filter_map(Value::as_array).map(Vec::len).sum();
    if count > MAX_ADDRESSES {
        f.broken(format!(
            "{name}: {count} addresses, at most {MAX_ADDRESSES} are possible"
        ));
        return None;
    }
    let read = tiers.into_iter().map(|tier| match tier {
        Value::Array(tier) => tier.into_iter().map(text_of).collect(),
        _ => None,
    });
    let read: Option<Vec<Vec<String>>> = read.collect();
    if read.is_none() {
        f.broken(format!("each value in {name} must be an array of strings"));
    }
    read
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn read_seed(f: &mut Fields<'_>, name: &'static str) -> Option<SeedInput> {
    let Value::Object(seed) = f.any(name).optional()? else {
        f.broken(format!("{name} must be an object"));
        return None;
    };
    match SeedInput::read(&seed) {
        Ok(seed) => Some(seed),
        Err(fault) => {
            f.broken(format!("{name}.{fault}"));
            None
        }
    }
}

impl SeedInput {
    /// The error names the first rule that is broken.
    fn read(seed: &Map<String, Value>) -> Result<Self, String> {
        if let Some(name) = seed.keys().find(|name| !SEED_KEYS.contains(&name.as_str())) {
            return Err(format!("property {name} should not exist"));
        }
        let text = |name: &str, most: usize| match seed.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.chars().count() <= most => Ok(Some(text.clone())),
            Some(Value::String(_)) => Err(format!(
                "{name} must be shorter than or equal to {most} characters"
            )),
            Some(_) => Err(format!("{name} must be a string")),
        };
        let engine_id = text("engineId", MAX_ID)?.filter(|id| !id.is_empty());
        let tags = match seed.get("tags") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(tags)) if tags.len() > MAX_TAGS => {
                return Err(format!("tags must contain no more than {MAX_TAGS} elements"));
            }
            Some(Value::Array(tags)) => {
                let tags: Option<Vec<String>> = tags.iter().cloned().map(text_of).collect();
                tags.ok_or("tags: each value must be a string")?
            }
            Some(_) => return Err("tags must be an array".to_owned()),
        };
        if tags
            .iter()
            .any(|tag| tag.trim().is_empty() || tag.chars().count() > MAX_TAG)
        {
            return Err(format!("tags: each value must have 1 to {MAX_TAG} characters"));
        }
        Ok(Self {
            engine_id: engine_id.ok_or("engineId should not be empty")?,
            category: text("category", MAX_CATEGORY)?.filter(|category| !category.trim().is_empty()),
            tags: tags.iter().map(|tag| tag.trim().to_owned()).collect(),
            start_paused: match seed.get("startPaused") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(paused)) => *paused,
                Some(_) => return Err("startPaused must be a boolean value".to_owned()),
            },
        })
    }
}

/// Refuses what the maker would refuse whatever the files are, with the same words.
fn check_choices(input: &CreateInput, f: &mut Fields<'_>) {
    let wish = input.to_wish();
    let options = wish
        .choices
        .to_options(wish.format, wish.is_private, Timestamp::from_ms(0));
    if let Err(fault) = options.check_choices() {
        f.broken(fault.to_string());
    }
}

impl CreateInput {
    pub fn to_wish(&self) -> Wish {
        let seed = self.seed.as_ref();
        Wish {
            name: self.name.clone(),
            format: self.format.as_deref().map_or(Format::V1, format_of),
            is_private: self.private,
            choices: Choices {
                piece_size: self.piece_size,
                source: self.source.clone(),
                trackers: self.trackers.clone().unwrap_or_default(),
                web_seeds: self.web_seeds.clone(),
                comment: self.comment.clone(),
                category: seed.and_then(|seed| seed.category.clone()),
                tags: seed.map(|seed| seed.tags.clone()).unwrap_or_default(),
                start_paused: seed.is_some_and(|seed| seed.start_paused),
            },
            engine_id: seed.map(|seed| seed.engine_id.clone()),
        }
    }
}

/// Page of the caller's created torrents.
#[derive(FromQuery)]
pub struct CreatedQuery(#[field(page = MAX_PAGE)] pub PageQuery);

/// A torrent that was created, or is being created.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreatedTorrent)]
pub struct CreatedView {
    pub id: String,
    /// The job that creates it, with its progress in bytes; `POST /api/jobs/{id}/cancel` stops it.
    pub job_id: String,
    /// `queued`, `hashing`, `seeding` (made, and on its way to an engine), `completed`, `failed` or `cancelled`.
    pub state: &'static str,
    pub name: String,
    /// As it was asked for, percent-encoded.
    pub path: String,
    /// `v1` or `hybrid`.
    pub format: &'static str,
    pub private: bool,
    /// Info-hash of version 1, once it is known.
    pub info_hash: Option<String>,
    /// Info-hash of version 2, which a hybrid has too.
    pub info_hash_v2: Option<String>,
    /// Bytes of the content.
    pub size: Option<u64>,
    /// Bytes.
    pub piece_size: Option<u64>,
    pub pieces: Option<u64>,
    /// Why it was not created.
    pub error: Option<String>,
    /// Null when no engine was to seed it.
    pub seeding: Option<SeedingView>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

/// The way of a created torrent into an engine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreatedTorrentSeeding)]
pub struct SeedingView {
    pub engine_id: String,
    /// `pending`, `added` or `failed`.
    pub state: &'static str,
    /// Info-hash under which the engine lists it.
    pub hash: Option<String>,
    /// True when the engine had the torrent before; it is as it was.
    pub existed: bool,
    /// Why it was not added. The torrent is kept.
    pub error: Option<String>,
}

impl From<Seeding> for SeedingView {
    fn from(seeding: Seeding) -> Self {
        Self {
            engine_id: seeding.engine_id,
            state: seeding.state.as_str(),
            hash: seeding.hash,
            existed: seeding.existed,
            error: seeding.error,
        }
    }
}

impl From<CreatedTorrent> for CreatedView {
    fn from(created: CreatedTorrent) -> Self {
        let facts = created.facts;
        Self {
            id: created.id,
            job_id: created.job_id,
            state: created.state.as_str(),
            name: created.name,
            path: created.path,
            format: format_word(created.format),
            private: created.is_private,
            info_hash: facts.as_ref().and_then(|facts| facts.hash_v1.clone()),
            info_hash_v2: facts.as_ref().and_then(|facts| facts.hash_v2.clone()),
            size: facts.as_ref().map(|facts| facts.size),
            piece_size: facts.as_ref().map(|facts| facts.piece_size),
            pieces: facts.as_ref().map(|facts| facts.pieces),
            error: created.error,
            seeding: created.seeding.map(SeedingView::from),
            created_at: created.created_at,
            ended_at: created.ended_at,
        }
    }
}

/// A page of the caller's created torrents.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreatedTorrentPage)]
pub struct CreatedPage {
    /// The newest first.
    pub items: Vec<CreatedView>,
    /// Items over all pages.
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}
