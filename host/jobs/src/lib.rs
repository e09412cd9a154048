//! Jobs: work that is done in the background, for people and for areas.
//!
//! A job is a row. Whoever asks for one stores it in the transaction of what makes it necessary; a worker takes it by one
//! conditional UPDATE and holds it by a lease that it prolongs; what it writes is fenced by that lease, so a worker that
//! was taken for dead writes nothing any more.
//! Invariants: a job moves along `model::status` and no other way; of two workers one has it; what happened to it is told
//! in numbered events in the same transaction; its input and its checkpoint are never shown; what is shown holds no secret.
//! Deliberately absent: exactly-once effects (a run that a crash cut off comes again where its type allows: see
//! [`JobHandler`]), and a choice of which worker gets which job. Work that an area does itself is a job all the same
//! ([`Jobs::begin_hosted`]).
//!
//! Realtime, to who may see the job: `jobs.created`, `.queued`, `.child_created`, `.started`, `.progress`,
//! `.phase_changed`, `.retrying`, `.paused`, `.resumed`, `.completed`, `.failed`, `.cancelling`, `.cancelled`, `.stalled`.

mod area;
mod dto;
mod error;
mod model;
mod repo;
mod routes;
mod service;
mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use area::AREA;
pub use error::JobsError;
pub use model::cron::{Cron, CronError};
pub use model::event::Source;
pub use model::job::{Capabilities, NewJob, Visibility};
pub use model::pace::Pace;
pub use model::schedule::Trigger;
use routes::routes;
use service::JobsDeps;
pub use service::context::{JobContext, Progress};
pub use service::hosted::Hosted;
pub use service::hosted_jobs::HostedView;
pub use service::types::{Done, JobError, JobHandler, JobType};
pub use service::views::{Ending, Standing};
pub use service::{Enqueued, Jobs};
