//! Realtime messages about jobs: one per change, sent after the commit.

use std::sync::Arc;

use qm_kernel::{Permission, Timestamp};
use qm_realtime::Room;
use serde::Serialize;
use serde_json::Value;

use super::Jobs;
use crate::model::job::{Job, Visibility};
use crate::model::sight;
use crate::model::status::Status;

/// A message that waits for the commit of its change.
pub(super) struct Message {
    event: &'static str,
    job: Job,
    /// A sentence for people.
    text: Option<String>,
}

impl Message {
    pub(super) fn about(event: &'static str, job: &Job) -> Self {
        Self {
            event,
            job: job.clone(),
            text: None,
        }
    }

    pub(super) fn saying(self, text: Option<String>) -> Self {
        Self { text, ..self }
    }
}

/// Payload of every `jobs.*` message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobMessage<'a> {
    job_id: &'a str,
    r#type: &'a str,
    module_key: &'a str,
    workspace_key: Option<&'a str>,
    status: &'a str,
    phase: Option<&'a str>,
    progress: Option<i64>,
    parent_job_id: Option<&'a str>,
    root_job_id: Option<&'a str>,
    correlation_id: Option<&'a str>,
    error_code: Option<&'a str>,
    message: Option<&'a str>,
    at: Timestamp,
}

/// Payload of `media_manager.job.*`, which the media manager's clients follow.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MediaMessage<'a> {
    job_id: &'a str,
    r#type: &'a str,
    status: &'a str,
    /// True when the job completed with warnings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warnings: bool,
    progress: i64,
    library_id: Option<&'a str>,
    item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    at: Timestamp,
}

/// Recipients of a message: for an own job its creator and users who see all jobs, for any other the holders
/// of its permission.
fn room(job: &Job) -> Option<Room> {
    match (job.visibility, job.permission()) {
        (Visibility::Own, _) => Some(owner(job)),
        (Visibility::Public, _) | (Visibility::Module, Ok(None)) => Some(Room::Authenticated),
        (Visibility::Module, Ok(Some(permission))) => Some(Room::Perm(permission)),
        // The permission is unknown to this version, so nobody holds it.
        (Visibility::Module, Err(_)) => None,
    }
}

/// Recipients of the media manager's form of a message: those recipients of the job's message who may see the
/// media manager.
fn media_room(job: &Job) -> Option<Room> {
    match room(job)? {
        Room::Authenticated => Some(Room::Perm(Permission::MediaManagerView)),
        narrower => Some(narrower),
    }
}

fn owner(job: &Job) -> Room {
    Room::Owner {
        user: job.created_by_id.as_deref().map(Arc::from),
        or: sight::SEE_ALL,
    }
}

/// State of a job in the vocabulary of the media manager, which has four states.
fn media_status(status: Status) -> &'static str {
    match status {
        Status::Completed | Status::CompletedWithWarnings => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
        _ => "running",
    }
}

/// Name of the corresponding event of the media manager, if any.
fn media_event(event: &str) -> Option<&'static str> {
    match event {
        "jobs.started" => Some("media_manager.job.started"),
        "jobs.progress" | "jobs.phase_changed" => Some("media_manager.job.progress"),
        "jobs.completed" => Some("media_manager.job.completed"),
        "jobs.failed" | "jobs.cancelled" => Some("media_manager.job.failed"),
        _ => None,
    }
}

impl Jobs {
    pub(super) fn tell_all(&self, messages: &[Message]) {
        for message in messages {
            self.tell(message);
        }
    }

    fn tell(&self, message: &Message) {
        let (job, at) = (&message.job, self.0.ctx.now());
        let Some(room) = room(job) else { return };
        let payload = JobMessage {
            job_id: &job.id,
            r#type: &job.type_key,
            module_key: &job.module_key,
            workspace_key: job.workspace_key.as_deref(),
            status: job.status.as_str(),
            phase: job.phase.as_deref(),
            progress: Some(job.progress_percent),
            parent_job_id: job.parent_job_id.as_deref(),
            root_job_id: Some(&job.root_job_id),
            correlation_id: job.correlation_id.as_deref(),
            error_code: job.error_code.as_deref(),
            message: message.text.as_deref(),
            at,
        };
        self.0.hub.emit_json(room, message.event, &payload);
        if job.module_key == "media_manager"
            && let Some(event) = media_event(message.event)
        {
            self.tell_media(event, message, at);
        }
    }

    fn tell_media(&self, event: &'static str, message: &Message, at: Timestamp) {
        let job = &message.job;
        let Some(room) = media_room(job) else { return };
        let failed = job.status == Status::Failed;
        let payload = MediaMessage {
            job_id: &job.id,
            r#type: job.type_key.strip_prefix("media.").unwrap_or(&job.type_key),
            status: media_status(job.status),
            warnings: job.status == Status::CompletedWithWarnings,
            progress: job.progress_percent,
            library_id: job.library_id.as_deref(),
            item_id: job.media_item_id.as_deref(),
            message: message.text.as_deref().filter(|_| !failed),
            processed: job.progress_current,
            total: job.progress_total,
            phase: job.phase.as_deref(),
            result: job.result_summary.as_ref(),
            error: job.error_message.as_deref().filter(|_| failed),
            at,
        };
        self.0.hub.emit_json(room, event, &payload);
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::Timestamp;

    use super::*;
    use crate::model::job::Capabilities;

    fn job(visibility: Visibility, permission: Option<&str>, creator: Option<&str>) -> Job {
        let now = Timestamp::from_ms(0);
        Job {
            visibility,
            required_permission: permission.map(str::to_owned),
            created_by_id: creator.map(str::to_owned),
            ..Job::new(
                "j".to_owned(),
                "media.library_scan".to_owned(),
                Capabilities::default(),
                now,
            )
        }
    }

    #[test]
    fn who_may_not_see_a_job_hears_nothing_of_it() {
        let owner = |user: Option<&str>| Room::Owner {
            user: user.map(Arc::from),
            or: sight::SEE_ALL,
        };
        let (view, torrents) = (Permission::MediaManagerView, Permission::TorrentsView);
        for (job, hears, hears_of_media) in [
            (
                job(Visibility::Own, Some(view.key()), Some("u")),
                Some(owner(Some("u"))),
                Some(owner(Some("u"))),
            ),
            (
                job(Visibility::Own, None, None),
                Some(owner(None)),
                Some(owner(None)),
            ),
            (
                job(Visibility::Public, Some(view.key()), None),
                Some(Room::Authenticated),
                Some(Room::Perm(view)),
            ),
            (
                job(Visibility::Module, None, None),
                Some(Room::Authenticated),
                Some(Room::Perm(view)),
            ),
            (
                job(Visibility::Module, Some(view.key()), Some("u")),
                Some(Room::Perm(view)),
                Some(Room::Perm(view)),
            ),
            (
                job(Visibility::Module, Some(torrents.key()), None),
                Some(Room::Perm(torrents)),
                Some(Room::Perm(torrents)),
            ),
            (job(Visibility::Module, Some("no.such"), Some("u")), None, None),
        ] {
            assert_eq!((room(&job), media_room(&job)), (hears, hears_of_media), "{job:?}");
        }
    }
}
