//! Identification of items: requests and results.

use qm_media::model::titles::{Tally, Titled, Which};
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::items::RowView;

/// Most characters of an id.
const MAX_ID: usize = 200;
const STATUSES: [&str; 3] = ["unmatched", "matched", "manual"];

/// Which items are identified again.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaReidentifyInput)]
#[fields(optional, open)]
pub struct ReidentifyInput {
    /// Absent: those of all libraries.
    #[field(max = MAX_ID)]
    pub library_id: Option<String>,
    /// `unmatched`, `matched` or `manual`; absent: all but `manual`.
    #[field(one_of = &STATUSES)]
    pub match_status: Option<String>,
}

impl From<ReidentifyInput> for Which {
    fn from(input: ReidentifyInput) -> Self {
        Self {
            library_id: input.library_id,
            match_status: input.match_status,
        }
    }
}

/// Result of identifying items again.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaReidentified)]
pub struct TallyView {
    pub total: u64,
    pub matched: u64,
    pub unmatched: u64,
    /// Items that somebody changed while they were looked at: they are as they were left.
    pub failed: u64,
}

impl From<Tally> for TallyView {
    fn from(tally: Tally) -> Self {
        Self {
            total: tally.total,
            matched: tally.matched,
            unmatched: tally.unmatched,
            failed: tally.failed,
        }
    }
}

/// Which title of the data set an item is.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaTitledbMatchInput)]
#[fields(open)]
pub struct TitledbMatchInput {
    /// 0 to 1, and what lies beyond counts as that; absent: 1.
    pub confidence: Option<f64>,
    /// `tt` and five to ten digits.
    #[field(max = MAX_ID)]
    pub titledb_id: String,
}

/// An item that somebody says which title it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaTitledbMatch)]
pub struct TitledbMatchView {
    pub item: RowView,
    pub titledb_id: String,
    /// 0 to 10.
    pub rating: Option<f64>,
    /// True if the data set knows the title. An unknown title is stored by its id alone.
    pub matched: bool,
}

impl From<Titled> for TitledbMatchView {
    fn from(titled: Titled) -> Self {
        Self {
            item: titled.item.into(),
            titledb_id: titled.titledb_id,
            rating: titled.rating,
            matched: titled.is_known,
        }
    }
}
