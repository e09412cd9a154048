//! Request and response types.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::Note;

const MAX_ID: usize = 100;

/// An item or a library whose notes are to be written.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NfoInput)]
#[fields(open)]
pub struct NfoInput {
    /// The item; without it all unlocked items of the library are meant.
    #[field(max = MAX_ID)]
    pub item_id: Option<String>,
    #[field(max = MAX_ID)]
    pub library_id: Option<String>,
    /// Replaces a note that somebody else wrote or changed: elements that are not known here stay in it.
    #[field(default)]
    #[schema(required = false, default = false)]
    pub overwrite: bool,
}

/// Items whose notes are to be written.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NfoItemsInput)]
#[fields(open)]
pub struct NfoItemsInput {
    /// 1000 at most; one that is named twice counts once, and what is no text not at all.
    #[field(with = Fields::strings_among)]
    pub item_ids: Option<Vec<String>>,
    /// Replaces notes that somebody else wrote or changed: elements that are not known here stay in them.
    #[field(default)]
    #[schema(required = false, default = false)]
    pub overwrite: bool,
}

/// A note that was written.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaNfoFile)]
pub struct NoteView {
    pub id: String,
    pub item_id: String,
    /// `movie`, `tvshow` or `episode`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub path: String,
    #[schema(value_type = String, format = DateTime)]
    pub generated_at: Timestamp,
}

impl NoteView {
    pub fn new((note, path): (Note, String)) -> Self {
        Self {
            id: note.id,
            item_id: note.item_id,
            kind: note.kind.as_str(),
            path,
            generated_at: note.generated_at,
        }
    }
}

/// Notes that were written.
#[derive(Serialize, ToSchema)]
#[schema(as = GeneratedNfo)]
pub struct GeneratedView {
    pub generated: usize,
    pub files: Vec<NoteView>,
}

impl GeneratedView {
    pub fn new(written: Vec<(Note, String)>) -> Self {
        Self {
            generated: written.len(),
            files: written.into_iter().map(NoteView::new).collect(),
        }
    }
}

/// Answer to an order.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NfoOrderAccepted)]
pub struct AcceptedView {
    /// Id of the job that carries out the order.
    pub job_id: String,
    /// Items it is about.
    pub accepted: usize,
    /// Ids that no item has.
    pub missing: Vec<String>,
}
