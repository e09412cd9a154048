//! Groups as they are answered.

use std::collections::{BTreeMap, HashMap};

use qm_duplicate_groups::{Verdict, Warning};
use qm_kernel::Timestamp;
use qm_ports::inventory::{StockFile, StockItem};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{Candidate, Overview, Status, StoredGroup};

/// Numbers of groups by their state.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicateGroupCounts)]
pub struct Counts {
    pub total: i64,
    pub open: i64,
    pub ignored: i64,
    pub resolved: i64,
}

/// Numbers of groups by their type.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateTypeCounts)]
pub struct TypeCounts {
    pub file: i64,
    pub show_folder: i64,
}

/// Numbers of plans.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicatePlanCounts)]
pub struct PlanCounts {
    pub completed: i64,
    pub pending: i64,
}

/// Duplicates in numbers.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicatesOverview)]
pub struct OverviewView {
    pub groups: Counts,
    /// Open groups only.
    pub needs_review: i64,
    pub by_type: TypeCounts,
    pub by_reason: BTreeMap<String, i64>,
    /// Open groups only.
    pub potential_savings_bytes: i64,
    /// Time of the newest group.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_detected_at: Option<Timestamp>,
    pub resolutions: PlanCounts,
}

impl From<Overview> for OverviewView {
    fn from(overview: Overview) -> Self {
        let of = |counts: &[(String, i64)], word: &str| {
            let found = counts.iter().find(|(known, _)| known == word);
            found.map_or(0, |(_, count)| *count)
        };
        let status = |status: Status| of(&overview.by_status, status.as_str());
        Self {
            groups: Counts {
                total: overview.by_status.iter().map(|(_, count)| count).sum(),
                open: status(Status::Open),
                ignored: status(Status::Ignored),
                resolved: status(Status::Resolved),
            },
            needs_review: overview.needs_review,
            by_type: TypeCounts {
                file: of(&overview.by_type, "file"),
                show_folder: of(&overview.by_type, "show_folder"),
            },
            by_reason: overview.by_reason.into_iter().collect(),
            potential_savings_bytes: overview.savings,
            last_detected_at: overview.last_detected_at,
            resolutions: PlanCounts {
                completed: overview.completed_plans,
                pending: overview.pending_plans,
            },
        }
    }
}

/// A member of a group in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateListItem)]
pub struct ListedItem {
    pub id: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub library_id: String,
    pub path: String,
    pub quality_score: i64,
    pub total_size: i64,
    pub best_resolution: Option<String>,
    pub best_codec: Option<String>,
}

impl ListedItem {
    fn new(candidate: &Candidate, item: StockItem) -> Self {
        let best = best_of(&item);
        Self {
            best_resolution: best.and_then(|file| file.resolution.clone()),
            best_codec: best.and_then(|file| file.video_codec.clone()),
            path: item.path().to_owned(),
            total_size: item.size(),
            quality_score: candidate.quality,
            id: item.id,
            title: item.title,
            year: item.year,
            season: item.season,
            episode: item.episode,
            library_id: item.library_id,
        }
    }
}

/// Largest file of an item.
fn best_of(item: &StockItem) -> Option<&StockFile> {
    item.files.iter().max_by_key(|file| file.size)
}

/// A group in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateGroupListed)]
pub struct Listing {
    pub id: String,
    /// `external_id`, `show_season_episode`, `title_year` or `similar_filename`.
    pub reason: String,
    /// `file` or `show_folder`.
    pub group_type: String,
    /// `open`, `ignored` or `resolved`.
    pub status: &'static str,
    /// 0 to 100.
    pub confidence: i64,
    pub requires_review: bool,
    pub potential_savings_bytes: i64,
    pub version: i64,
    pub ignored_reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The first of `items`.
    pub suggested_keep_id: Option<String>,
    /// The best members first, 50 at most.
    pub items: Vec<ListedItem>,
}

impl Listing {
    /// The members are in the order of the answer.
    pub fn new(group: StoredGroup, members: Vec<(Candidate, StockItem)>) -> Self {
        let items: Vec<ListedItem> = members
            .into_iter()
            .map(|(candidate, item)| ListedItem::new(&candidate, item))
            .collect();
        Self {
            suggested_keep_id: items.first().map(|item| item.id.clone()),
            items,
            id: group.id,
            reason: group.reason,
            group_type: group.group_type,
            status: group.status.as_str(),
            confidence: group.confidence,
            requires_review: group.requires_review,
            potential_savings_bytes: group.savings,
            version: group.version,
            ignored_reason: group.ignored_reason,
            created_at: group.created_at,
        }
    }
}

/// A page of groups.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateGroups)]
pub struct GroupsPage {
    pub items: Vec<Listing>,
    pub total: i64,
    pub page: u64,
    pub page_size: u64,
}

/// The verdicts on the members of a group.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicateRecommendation)]
pub struct Recommendation {
    pub verdicts: Vec<VerdictView>,
}

/// The verdict on a member.
#[derive(Serialize, ToSchema)]
#[schema(as = DuplicateVerdict)]
pub struct VerdictView {
    pub id: String,
    /// 1: the best.
    pub rank: u32,
    pub score: i64,
    pub reasons: Vec<String>,
}

impl From<Vec<Verdict>> for Recommendation {
    fn from(verdicts: Vec<Verdict>) -> Self {
        let verdicts = verdicts.into_iter().map(|verdict| VerdictView {
            id: verdict.id,
            rank: verdict.rank,
            score: verdict.score,
            reasons: verdict.reasons,
        });
        Self {
            verdicts: verdicts.collect(),
        }
    }
}

/// A stored group. Bytes are a text.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateGroup)]
pub struct GroupRow {
    pub id: String,
    pub group_key: String,
    pub group_type: String,
    pub reason: String,
    pub status: &'static str,
    pub confidence: i64,
    pub requires_review: bool,
    pub potential_savings_bytes: String,
    pub recommended_item_id: Option<String>,
    pub recommendation: Recommendation,
    #[schema(value_type = Vec<String>)]
    pub warnings: Vec<Warning>,
    pub version: i64,
    pub ignored_reason: Option<String>,
    pub ignored_by_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ignored_at: Option<Timestamp>,
    pub resolved_by_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<StoredGroup> for GroupRow {
    fn from(group: StoredGroup) -> Self {
        Self {
            id: group.id,
            group_key: group.key,
            group_type: group.group_type,
            reason: group.reason,
            status: group.status.as_str(),
            confidence: group.confidence,
            requires_review: group.requires_review,
            potential_savings_bytes: group.savings.to_string(),
            recommended_item_id: group.recommended_item_id,
            recommendation: group.verdicts.into(),
            warnings: group.warnings,
            version: group.version,
            ignored_reason: group.ignored_reason,
            ignored_by_id: group.ignored_by,
            ignored_at: group.ignored_at,
            resolved_by_id: group.resolved_by,
            resolved_at: group.resolved_at,
            created_at: group.created_at,
            updated_at: group.updated_at,
        }
    }
}

/// An id at a provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateExternalId)]
pub struct ExternalIdView {
    pub provider: String,
    pub external_id: String,
}

/// Properties that the name of a file gives.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateParsed)]
pub struct Parsed {
    pub container: Option<String>,
    pub resolution: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub hdr: Option<String>,
    pub release_group: Option<String>,
    pub quality: Option<String>,
    pub language: Option<String>,
}

/// Properties that a program measured.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateMeasured)]
pub struct MeasuredView {
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub bitrate_kbps: Option<i64>,
    pub duration_sec: Option<i64>,
    pub audio_channels: Option<i64>,
    pub frame_rate: Option<f64>,
}

/// A member of a group.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateCandidate)]
pub struct CandidateView {
    pub id: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub media_type: String,
    pub match_status: String,
    pub library_id: String,
    pub library_name: Option<String>,
    pub path: String,
    #[schema(value_type = String, format = DateTime)]
    pub added_at: Timestamp,
    /// Time of the file.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
    pub external_ids: Vec<ExternalIdView>,
    pub total_size: i64,
    pub quality_score: i64,
    /// Properties of the first file.
    pub parsed: Parsed,
    /// Properties of the first file.
    pub measured: MeasuredView,
}

impl CandidateView {
    fn new(candidate: &Candidate, item: StockItem, libraries: &HashMap<String, String>) -> Self {
        let (path, total_size) = (item.path().to_owned(), item.size());
        let file = item.files.into_iter().next().unwrap_or_default();
        let ids = item.external_ids.into_iter();
        Self {
            library_name: libraries.get(&item.library_id).cloned(),
            id: item.id,
            title: item.title,
            year: item.year,
            season: item.season,
            episode: item.episode,
            media_type: item.media_type,
            match_status: item.match_status,
            library_id: item.library_id,
            path,
            added_at: item.created_at,
            modified_at: (file.mtime > 0).then(|| Timestamp::from_ms(file.mtime / 1_000_000)),
            external_ids: ids
                .map(|(provider, external_id)| ExternalIdView {
                    provider,
                    external_id,
                })
                .collect(),
            total_size,
            quality_score: candidate.quality,
            measured: MeasuredView {
                width: file.width,
                height: file.height,
                bitrate_kbps: file.bitrate_kbps,
                duration_sec: file.duration_sec,
                audio_channels: file.audio_channels,
                frame_rate: file.frame_rate,
            },
            parsed: Parsed {
                container: file.container,
                resolution: file.resolution,
                video_codec: file.video_codec,
                audio_codec: file.audio_codec,
                hdr: file.hdr,
                release_group: file.release_group,
                quality: file.quality,
                language: file.language,
            },
        }
    }
}

/// A group with its members.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateGroupDetail)]
pub struct GroupDetail {
    pub id: String,
    /// Key that the members have in common.
    pub group_key: String,
    pub group_type: String,
    pub reason: String,
    pub status: &'static str,
    pub confidence: i64,
    pub requires_review: bool,
    pub version: i64,
    pub potential_savings_bytes: i64,
    /// Null: somebody has to choose.
    pub recommended_item_id: Option<String>,
    pub recommendation: Recommendation,
    /// Reasons for a review, such as `different_years`.
    #[schema(value_type = Vec<String>)]
    pub warnings: Vec<Warning>,
    pub ignored_reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ignored_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The member with the best quality by its name.
    pub suggested_keep_id: Option<String>,
    /// The best members first.
    pub candidates: Vec<CandidateView>,
}

impl GroupDetail {
    pub fn new(
        group: StoredGroup,
        members: Vec<(Candidate, StockItem)>,
        libraries: &HashMap<String, String>,
    ) -> Self {
        let by_quality = |(candidate, _): &&(Candidate, StockItem)| {
            (
                candidate.quality,
                candidate.size,
                std::cmp::Reverse(candidate.rank),
            )
        };
        let suggested = members.iter().max_by_key(by_quality);
        Self {
            suggested_keep_id: suggested.map(|(candidate, _)| candidate.item_id.clone()),
            candidates: members
                .into_iter()
                .map(|(candidate, item)| CandidateView::new(&candidate, item, libraries))
                .collect(),
            id: group.id,
            group_key: group.key,
            group_type: group.group_type,
            reason: group.reason,
            status: group.status.as_str(),
            confidence: group.confidence,
            requires_review: group.requires_review,
            version: group.version,
            potential_savings_bytes: group.savings,
            recommended_item_id: group.recommended_item_id,
            recommendation: group.verdicts.into(),
            warnings: group.warnings,
            ignored_reason: group.ignored_reason,
            ignored_at: group.ignored_at,
            resolved_at: group.resolved_at,
            created_at: group.created_at,
        }
    }
}
