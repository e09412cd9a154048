//! Repair of films that share an id though they lie in folders of their own.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::model::repair::{Preview, Proposal, Repaired};

/// Proposal for one item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaRepairProposal)]
pub struct ProposalView {
    pub item_id: String,
    pub path: String,
    /// Title that its folder names.
    pub folder_title: String,
    pub folder_year: Option<i64>,
    /// Ids by their providers.
    pub current: BTreeMap<String, String>,
    pub proposed: BTreeMap<String, String>,
    /// `reidentify`, `clear` or `unchanged`
    pub action: &'static str,
    /// Several films are equally likely.
    pub ambiguous: bool,
    /// For people.
    pub reason: String,
}

impl From<Proposal> for ProposalView {
    fn from(proposal: Proposal) -> Self {
        Self {
            item_id: proposal.held.item_id,
            path: proposal.held.path,
            folder_title: proposal.title,
            folder_year: proposal.year,
            current: proposal.held.current,
            proposed: proposal.proposed,
            action: proposal.action.as_str(),
            ambiguous: proposal.ambiguous,
            reason: proposal.reason,
        }
    }
}

/// Preview of a repair.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaRepairPreview)]
pub struct RepairPreviewView {
    /// Ids that films of several folders hold.
    pub contaminated_ids: usize,
    /// By their folders.
    pub proposals: Vec<ProposalView>,
}

impl From<Preview> for RepairPreviewView {
    fn from(preview: Preview) -> Self {
        Self {
            contaminated_ids: preview.contaminated,
            proposals: preview.proposals.into_iter().map(Into::into).collect(),
        }
    }
}

/// Result of a repair, in items.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaRepaired)]
pub struct RepairedView {
    pub reidentified: u64,
    pub cleared: u64,
    pub unchanged: u64,
}

impl From<Repaired> for RepairedView {
    fn from(repaired: Repaired) -> Self {
        Self {
            reidentified: repaired.reidentified,
            cleared: repaired.cleared,
            unchanged: repaired.unchanged,
        }
    }
}
