//! Requests and answers.

use std::collections::BTreeMap;

use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Collision, MOST_DUPLICATES, MOST_FILES, Move, Rescued, StoredPlan};

const MAX_ID: usize = 64;
const MAX_LIMIT_TEXT: usize = 200;
const MAX_KEY: usize = 64;
const MAX_PATH: usize = 4096;
const DEFAULT_LIMIT: usize = 25;
const MAX_LIMIT: usize = 100;

/// True for an id of a show or a plan.
fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// Library whose shows are compared, and the number of families.
#[derive(FromQuery)]
pub struct FamiliesQuery {
    #[field(max = MAX_ID)]
    pub library_id: Option<String>,
    /// 1 to 100; anything else counts as 25, and more as 100.
    #[field(max = MAX_LIMIT_TEXT)]
    pub limit: Option<String>,
}

impl FamiliesQuery {
    pub fn limit(&self) -> usize {
        let asked = self
            .limit
            .as_deref()
            .and_then(|text| text.trim().parse::<usize>().ok());
        asked
            .filter(|limit| *limit > 0)
            .map_or(DEFAULT_LIMIT, |limit| limit.min(MAX_LIMIT))
    }
}

/// Folders to put together.
#[derive(ToSchema, FromBody)]
#[fields(check = check_ids)]
#[schema(rename_all = "camelCase", as = PreviewShowMerge)]
pub struct PreviewInput {
    /// Id of the show whose folder stays.
    #[field(not_empty, max = MAX_ID)]
    pub canonical_show_id: String,
    /// 1 to 50 ids of shows of the same library.
    #[field(min_items = 1, max_items = MOST_DUPLICATES, each_max = MAX_ID)]
    pub duplicate_show_ids: Vec<String>,
    /// Paths of the files to keep, by the keys of their episodes, e.g. `s1e2`; of other episodes the larger file stays.
    #[field(with = choices)]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub collision_choices: BTreeMap<String, String>,
    /// True: shows of other names or years are merged all the same.
    #[field(default)]
    pub acknowledge_metadata_conflict: bool,
}

fn check_ids(input: &PreviewInput, fields: &mut Fields<'_>) {
    if !is_uuid(&input.canonical_show_id) {
        fields.broken("canonicalShowId must be a UUID");
    }
    if !input.duplicate_show_ids.iter().all(|id| is_uuid(id)) {
        fields.broken("each value in duplicateShowIds must be a UUID");
    }
}

fn choices(fields: &mut Fields<'_>, name: &'static str) -> BTreeMap<String, String> {
    let sent: Map<String, Value> = fields.object(name).optional().unwrap_or_default();
    if sent.len() > MOST_FILES {
        fields.broken(format!("{name} must contain no more than {MOST_FILES} elements"));
        return BTreeMap::new();
    }
    let mut choices = BTreeMap::new();
    for (key, path) in sent {
        match path {
            Value::String(path) if path.len() <= MAX_PATH && key.len() <= MAX_KEY => {
                choices.insert(key, path);
            }
            _ => fields.broken(format!(
                "each value in {name} must be the path of a file, and each name an episode"
            )),
        }
    }
    choices
}

/// Plan to carry out.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MergeShows)]
pub struct MergeInput {
    /// Id that the preview has answered.
    #[field(not_empty, max = MAX_ID, check(is_uuid, "must be a UUID"))]
    pub plan_id: String,
}

/// Files beside videos.
#[derive(Serialize, ToSchema)]
#[schema(as = ShowSidecars)]
pub struct SidecarsView {
    pub subtitles: usize,
    pub nfo: usize,
    pub artwork: usize,
    pub other: usize,
}

/// A show of a family.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateShow)]
pub struct MemberView {
    pub show_id: String,
    pub path: String,
    pub title: String,
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    pub video_count: usize,
    pub size_bytes: u64,
    /// Keys of its episodes, e.g. `s1e2`.
    pub episodes: Vec<String>,
    /// Episodes that no other show of the family has.
    pub unique_episodes: Vec<String>,
    pub sidecars: SidecarsView,
    /// Always 0: this service keeps no watchlist.
    pub watchlist_count: u32,
}

/// Shows of one library that seem to be one.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateShowFamily)]
pub struct FamilyView {
    /// `name`, `titledb` or `name+titledb`.
    pub reason: &'static str,
    pub needs_review: bool,
    /// `metadata_conflict`: their names differ, and an id alone ties them.
    pub review_reason: Option<&'static str>,
    /// Episodes that several of the shows have.
    pub colliding_episodes: Vec<String>,
    /// The show with the most videos.
    pub suggested_canonical_show_id: String,
    /// Those with the most videos first.
    pub members: Vec<MemberView>,
}

/// Families of shows, the largest first.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicateShowFamilies)]
pub struct FamiliesView {
    pub families: Vec<FamilyView>,
    pub total: usize,
    pub limit: usize,
    /// True if there are more than the answer holds.
    pub truncated: bool,
}

impl FamiliesView {
    pub fn new(families: Vec<FamilyView>, total: usize, limit: usize) -> Self {
        Self {
            truncated: total > families.len(),
            families,
            total,
            limit,
        }
    }
}

/// A show of a plan.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MergedShow)]
pub struct ShowView {
    pub show_id: String,
    pub path: String,
    pub title: String,
}

/// A file that moves.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShowMergeMove)]
pub struct MoveView {
    pub from: String,
    pub to: String,
    pub size_bytes: u64,
    /// `video`, `sidecar` or `rescued_subtitle`.
    pub kind: &'static str,
}

impl From<&Move> for MoveView {
    fn from(file: &Move) -> Self {
        Self {
            from: file.from.clone(),
            to: file.to.clone(),
            size_bytes: file.size,
            kind: file.kind.as_str(),
        }
    }
}

/// Two files of one episode, of which one stays.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShowMergeCollision)]
pub struct CollisionView {
    /// `s1e2`, or `s1e2-e3` for files of several episodes.
    pub key: String,
    pub season: i64,
    pub episode: i64,
    pub incoming: String,
    pub incoming_bytes: u64,
    pub existing: String,
    pub existing_bytes: u64,
    /// `incoming` or `existing`.
    pub winner: &'static str,
    pub chosen_by_operator: bool,
    /// Path of the one that goes into the trash.
    pub trashed: String,
}

impl From<&Collision> for CollisionView {
    fn from(collision: &Collision) -> Self {
        Self {
            key: collision.key.clone(),
            season: collision.season,
            episode: collision.episode,
            incoming: collision.incoming.clone(),
            incoming_bytes: collision.incoming_bytes,
            existing: collision.existing.clone(),
            existing_bytes: collision.existing_bytes,
            winner: if collision.is_incoming_better {
                "incoming"
            } else {
                "existing"
            },
            chosen_by_operator: collision.is_chosen,
            trashed: collision.trashed.clone(),
        }
    }
}

/// Subtitles that are kept although their video goes.
#[derive(Serialize, ToSchema)]
#[schema(as = RescuedSubtitle)]
pub struct RescuedView {
    pub from: String,
    pub to: String,
    /// Two letters; null: their name does not say it.
    pub language: Option<String>,
}

impl From<&Rescued> for RescuedView {
    fn from(rescued: &Rescued) -> Self {
        Self {
            from: rescued.from.clone(),
            to: rescued.to.clone(),
            language: rescued.language.clone(),
        }
    }
}

/// A plan that puts folders together.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShowMergePlan)]
pub struct PlanView {
    pub plan_id: String,
    pub canonical: ShowView,
    pub duplicates: Vec<ShowView>,
    pub moves: Vec<MoveView>,
    pub collisions: Vec<CollisionView>,
    pub rescued_subtitles: Vec<RescuedView>,
    /// Always 0: this service keeps no watchlist.
    pub watchlist_repoint: u32,
    /// Folders that go into the trash.
    pub deletions: Vec<String>,
    /// Reasons that keep the plan from being carried out.
    pub blockers: Vec<String>,
    /// Things to know before: torrents, hard links, folders that stay.
    pub warnings: Vec<String>,
    pub expected_freed_bytes: u64,
}

impl From<StoredPlan> for PlanView {
    fn from(stored: StoredPlan) -> Self {
        let canonical = canonical_of(&stored);
        let plan = stored.plan;
        let duplicates = plan.duplicates.into_iter().map(|show| ShowView {
            show_id: show.id,
            path: show.path,
            title: show.title,
        });
        Self {
            plan_id: stored.id,
            canonical,
            duplicates: duplicates.collect(),
            moves: plan.moves.iter().map(MoveView::from).collect(),
            collisions: plan.collisions.iter().map(CollisionView::from).collect(),
            rescued_subtitles: plan.rescued.iter().map(RescuedView::from).collect(),
            watchlist_repoint: 0,
            deletions: plan.deletions,
            blockers: plan.blockers,
            warnings: plan.warnings,
            expected_freed_bytes: plan.expected_freed,
        }
    }
}

/// The show that stays.
pub fn canonical_of(stored: &StoredPlan) -> ShowView {
    let show = &stored.plan.canonical;
    ShowView {
        show_id: show.id.clone(),
        path: show.path.clone(),
        title: show.title.clone(),
    }
}

/// Numbers of media servers.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerRefresh)]
pub struct RefreshView {
    /// Those that look for files now.
    pub refreshed: usize,
    /// Those that could not be asked.
    pub failed: usize,
}

/// A merge that was carried out.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShowMerge)]
pub struct MergedView {
    pub plan_id: String,
    /// `completed`; `partial`: some steps failed; `failed`: nothing was done; `interrupted`: the server stops or the disk is
    /// away, and the same request goes on with it.
    pub status: &'static str,
    pub canonical: ShowView,
    /// Files that moved, without rescued subtitles.
    pub moved: usize,
    /// Files in the trash, without those in folders.
    pub trashed: usize,
    /// Subtitles that were rescued.
    pub rescued: usize,
    /// Folders in the trash.
    pub deleted: usize,
    /// Steps that were not as the plan knew them.
    pub skipped: usize,
    pub failed: usize,
    /// Always 0: this service keeps no watchlist.
    pub rebound: u32,
    /// Bytes of files whose last name went.
    pub reclaimed_bytes: u64,
    pub library_id: String,
    /// Job of the scan that was asked for; null: nothing was done, or it could not be asked for.
    pub rescan_job_id: Option<String>,
    pub server_refresh: RefreshView,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_fitted() {
        let limit = |text: Option<&str>| {
            let query = FamiliesQuery {
                library_id: None,
                limit: text.map(str::to_owned),
            };
            query.limit()
        };
        assert_eq!(limit(None), 25);
        for (text, wanted) in [
            ("7", 7),
            ("100", 100),
            ("101", 100),
            ("0", 25),
            ("-3", 25),
            ("many", 25),
            ("", 25),
        ] {
            assert_eq!(limit(Some(text)), wanted, "{text}");
        }
    }

    #[test]
    fn ids_are_known_by_their_form() {
        assert!(is_uuid("0190d1f0-5c1e-4d7a-9f00-aabbccddeeff"));
        for text in [
            "",
            "nobody",
            "0190d1f05c1e4d7a9f00aabbccddeeff",
            "0190d1f0-5c1e-4d7a-9f00-aabbccddeefg",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
