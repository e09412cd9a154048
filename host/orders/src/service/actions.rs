//! Actions of automation on libraries and their items.
//!
//! They act for the rule's author, whose permissions are checked before each run; the run is audited. A run waits for its
//! job and fails with it. A repeated run does no more than the first.

use async_trait::async_trait;
use qm_identify::{FETCH_JOB, REIDENTIFY_JOB};
use qm_jobs::{Ending, JobsError, NewJob, Source};
use qm_kernel::Permission as P;
use qm_media::LibraryError;
use qm_media::model::item::Item;
use qm_media::repo;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use qm_scan::{Reason, ScanRequest};
use serde_json::{Map, Value, json};

use super::Orders;

const SCAN: &str = "media_scan_library";
const MATCH: &str = "media_match";
const FETCH: &str = "media_fetch_metadata";

#[async_trait]
impl Actions for Orders {
    fn actions(&self) -> Vec<ActionKind> {
        vec![
            kind(
                (SCAN, P::MediaManagerScan),
                "Scan a media library",
                "libraryId",
                "Id of the library.",
            ),
            kind(
                (MATCH, P::MediaManagerMatch),
                "Read again what a media item is",
                "itemId",
                "Id of the item. A locked one is not read.",
            ),
            kind(
                (FETCH, P::MediaManagerEditMetadata),
                "Ask providers what a media item is about",
                "itemId",
                "Id of the item.",
            ),
        ]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        match action {
            SCAN => self.scan_for_a_rule(&named(&call.params, "libraryId")?).await,
            MATCH => self.match_for_a_rule(&named(&call.params, "itemId")?).await,
            FETCH => self.describe_for_a_rule(&named(&call.params, "itemId")?).await,
            _ => Err(ActionError::Unknown(action.to_owned())),
        }
    }
}

fn kind((id, need): (&str, P), label: &str, of: &str, about: &str) -> ActionKind {
    ActionKind {
        id: id.to_owned(),
        label: label.to_owned(),
        category: "media".to_owned(),
        // Its parameters say what it is about, so that it may follow an event without a torrent, and a time table.
        occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
        params_schema: json!({
            "type": "object",
            "properties": { of: { "type": "string", "description": about } },
            "required": [of],
        }),
        idempotent: true,
        needs: vec![need],
        plugin: HOUSE.to_owned(),
    }
}

impl Orders {
    pub(super) async fn scan_for_a_rule(&self, id: &str) -> Result<(), ActionError> {
        let unknown = || refused(LibraryError::NoSuchLibrary);
        let mut tx = self.db.begin_read().await.map_err(stored)?;
        let library = repo::libraries::find(&mut tx, sound(id).ok_or_else(unknown)?).await;
        drop(tx);
        let library = library.map_err(stored)?.ok_or_else(unknown)?;
        let mut joined = false;
        loop {
            let asked = ScanRequest {
                library_id: &library.id,
                name: Some(&library.name),
                reason: Reason::Rule,
                created_by: None,
                places: None,
            };
            let mut tx = self.db.begin_write().await.map_err(stored)?;
            let job = self.jobs.enqueue(&mut tx, asked.into_job()).await.map_err(jobs)?;
            tx.commit().await.map_err(stored)?;
            self.jobs.announce(&job);
            let ended = self.ended(job.id()).await;
            if !job.is_fresh() && !joined {
                // A joined scan may have passed the new files already; the next one has not.
                joined = true;
                continue;
            }
            return ended;
        }
    }

    /// Reads the name of an item again, and asks the data set of titles about it.
    pub(super) async fn match_for_a_rule(&self, id: &str) -> Result<(), ActionError> {
        let item = self.known(id).await?;
        if item.locked {
            return Err(refused(LibraryError::Locked));
        }
        self.done_about(item, REIDENTIFY_JOB).await
    }

    /// Asks providers for metadata of an item, locked or not.
    pub(super) async fn describe_for_a_rule(&self, id: &str) -> Result<(), ActionError> {
        let item = self.known(id).await?;
        self.done_about(item, FETCH_JOB).await
    }

    async fn known(&self, id: &str) -> Result<Item, ActionError> {
        let unknown = || refused(LibraryError::NoSuchItem);
        let mut tx = self.db.begin_read().await.map_err(stored)?;
        let found = repo::lists::find(&mut tx, sound(id).ok_or_else(unknown)?).await;
        let (item, _) = found.map_err(stored)?.ok_or_else(unknown)?;
        Ok(item)
    }

    async fn done_about(&self, item: Item, type_key: &'static str) -> Result<(), ActionError> {
        let job = NewJob {
            name: Some(item.title),
            source: Source::Automation,
            resource: Some(("media_item".to_owned(), item.id.clone())),
            library_id: Some(item.library_id),
            media_item_id: Some(item.id.clone()),
            // Whoever waits for it asks again when it was cut off.
            max_attempts: Some(1),
            ..NewJob::new(type_key, json!({ "itemId": item.id }))
        };
        let job = self.jobs.submit(job).await.map_err(jobs)?;
        self.ended(&job).await
    }

    async fn ended(&self, job: &str) -> Result<(), ActionError> {
        match self.jobs.ended(job).await.map_err(jobs)? {
            Ending::Completed => Ok(()),
            Ending::Cancelled => Err(ActionError::Rejected("It was cancelled".to_owned())),
            Ending::Failed(why) => Err(ActionError::Rejected(why)),
        }
    }
}

/// Parameter as a text; a number becomes its digits.
fn named(params: &Map<String, Value>, name: &str) -> Result<String, ActionError> {
    let text = match params.get(name) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    if text.is_empty() {
        return Err(ActionError::InvalidParams(format!("{name} is required")));
    }
    Ok(text)
}

/// Id without NUL, which PostgreSQL refuses in a text; `None` otherwise.
fn sound(id: &str) -> Option<&str> {
    (!id.contains('\0')).then_some(id)
}

pub(super) fn refused(error: LibraryError) -> ActionError {
    match error {
        LibraryError::NoSuchLibrary | LibraryError::NoSuchItem => ActionError::NotFound(error.to_string()),
        other => ActionError::Rejected(other.to_string()),
    }
}

pub(super) fn stored(error: qm_db::DbError) -> ActionError {
    ActionError::Rejected(format!("The library could not be read: {error}"))
}

fn jobs(error: JobsError) -> ActionError {
    ActionError::Rejected(format!("Its job could not be asked for: {error}"))
}
