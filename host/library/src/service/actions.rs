//! Actions of automation on libraries.
//!
//! As any action they act for nobody: whoever wrote the rule was judged when it was written, and its run is what is audited.
//! A run waits for its job and fails with it. Done twice they do no more than once.

use async_trait::async_trait;
use qm_jobs::{Ending, JobsError};
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use serde_json::{Map, Value, json};

use super::Library;
use super::scan::{Reason, ScanRequest};
use crate::repo;

const SCAN: &str = "media_scan_library";

#[async_trait]
impl Actions for Library {
    fn actions(&self) -> Vec<ActionKind> {
        vec![ActionKind {
            id: SCAN.to_owned(),
            label: "Scan a media library".to_owned(),
            category: "media".to_owned(),
            occasions: vec![Occasion::Torrent, Occasion::Media],
            params_schema: json!({
                "type": "object",
                "properties": { "libraryId": { "type": "string" } },
                "required": ["libraryId"],
            }),
            idempotent: true,
            plugin: HOUSE.to_owned(),
        }]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        match action {
            SCAN => self.scan_for_a_rule(&call.params).await,
            _ => Err(ActionError::Unknown(action.to_owned())),
        }
    }
}

impl Library {
    async fn scan_for_a_rule(&self, params: &Map<String, Value>) -> Result<(), ActionError> {
        let id = named(params, "libraryId")?;
        let mut tx = self.db.begin_read().await.map_err(stored)?;
        let library = repo::libraries::find(&mut tx, &id).await.map_err(stored)?;
        drop(tx);
        let library = library.ok_or_else(|| ActionError::NotFound("Library not found".to_owned()))?;
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
            let ended = self.jobs.ended(job.id()).await.map_err(jobs)?;
            if !job.is_fresh() && !joined {
                // It may have passed already where something new lies; one that follows it has not.
                joined = true;
                continue;
            }
            return match ended {
                Ending::Completed => Ok(()),
                Ending::Cancelled => Err(ActionError::Rejected("The scan was cancelled".to_owned())),
                Ending::Failed(why) => Err(ActionError::Rejected(why)),
            };
        }
    }
}

/// A parameter as text, a number as its digits.
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

fn stored(error: qm_db::DbError) -> ActionError {
    ActionError::Rejected(format!("The library could not be read: {error}"))
}

fn jobs(error: JobsError) -> ActionError {
    ActionError::Rejected(format!("The scan could not be asked for: {error}"))
}
