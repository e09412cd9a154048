//! Automation action that makes a media server scan for files, and its job.
//!
//! It acts for the rule's author, whose permissions are checked before each run; the run is audited. A run
//! waits for its job and fails with it.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_jobs::{Capabilities, Done, Ending, JobContext, JobError, JobHandler, JobType, NewJob, Source};
use qm_kernel::Permission;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use qm_ports::media_server::{Extent, MediaServers};
use serde_json::{Value, json};

use super::{AT_ONCE, Integrations};
use crate::error::MediaServersError;

const REFRESH: &str = "media_server_refresh";
/// Job type.
const TYPE: &str = "media.media_server_refresh";

pub(super) fn job_type(servers: &Arc<Integrations>) -> JobType {
    JobType {
        key: TYPE,
        module: "media_manager",
        workspace: Some("media"),
        label_key: "jobs.type.media.media_server_refresh",
        description_key: None,
        required_permission: Some(Permission::MediaManagerView),
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        max_attempts: 1,
        timeout: None,
        at_once: Some(AT_ONCE),
        at_once_of_one: None,
        handler: Arc::new(Refreshing(Arc::downgrade(servers))),
    }
}

struct Refreshing(Weak<Integrations>);

#[async_trait]
impl JobHandler for Refreshing {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let gone = || JobError::new("stopping", "the server stops");
        let servers = self.0.upgrade().ok_or_else(gone)?;
        let id = job.input()["integrationId"].as_str().unwrap_or_default();
        let done = MediaServers::refresh(&*servers, id, Extent::default()).await;
        done.map_err(|error| JobError::new("media_server.refresh", format!("Refresh failed: {error}")))?;
        Ok(Done::result(json!({ "integrationId": id })))
    }
}

#[async_trait]
impl Actions for Integrations {
    fn actions(&self) -> Vec<ActionKind> {
        vec![ActionKind {
            id: REFRESH.to_owned(),
            label: "Have a media server look for files".to_owned(),
            category: "media".to_owned(),
            // Its parameters say which server, so that it may follow an event without a torrent, and a time table.
            occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
            params_schema: json!({
                "type": "object",
                "properties": { "integrationId": { "type": "string" } },
                "required": ["integrationId"],
            }),
            idempotent: true,
            needs: vec![Permission::MediaManagerManageIntegrations],
            plugin: HOUSE.to_owned(),
        }]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        if action != REFRESH {
            return Err(ActionError::Unknown(action.to_owned()));
        }
        let id = call.params.get("integrationId").and_then(Value::as_str);
        let id = id.map(str::trim).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| ActionError::InvalidParams("integrationId is required".to_owned()))?;
        let integration = self.stored(id).await.map_err(refused)?;
        let job = NewJob {
            name: Some(integration.name.clone()),
            source: Source::Automation,
            resource: Some(("media_server_integration".to_owned(), integration.id.clone())),
            ..NewJob::new(TYPE, json!({ "integrationId": integration.id }))
        };
        let lost = |error: qm_jobs::JobsError| ActionError::Rejected(error.to_string());
        let job = self.jobs.submit(job).await.map_err(lost)?;
        match self.jobs.ended(&job).await.map_err(lost)? {
            Ending::Completed => Ok(()),
            Ending::Cancelled => Err(ActionError::Rejected("The refresh was cancelled".to_owned())),
            Ending::Failed(why) => Err(ActionError::Rejected(why)),
        }
    }
}

fn refused(error: MediaServersError) -> ActionError {
    match error {
        MediaServersError::NoSuchIntegration => ActionError::NotFound(error.to_string()),
        other => ActionError::Rejected(other.to_string()),
    }
}
