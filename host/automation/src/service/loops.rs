//! Stops rules that would go on for ever ([`crate::model::guard`]), with a line in the log and a notification.

use qm_db::DbError;
use qm_kernel::event::{Cause as EventCause, DomainEvent, EventSpec};
use qm_kernel::{Permission, as_error};
use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::Automation;
use super::execute::PAUSE;
use crate::model::guard::{Cause, Stop, place_of};
use crate::model::rule::Rule;
use crate::model::run::{Outcome, Run};
use crate::model::trigger::{COMPLETED, FAILED, SCHEDULE};

qm_kernel::events! {
    /// A rule would have gone on for ever for a torrent, and was stopped for it.
    pub struct RuleStopped: "automation.rule_stopped" about "automation_rule", once in 3600 {
        rule_id: String,
        rule_name: String,
        hash: String,
        torrent_name: String,
        /// Title and text of the notification.
        notice_title: String,
        notice_text: String,
    }
}

/// The events of this area.
pub const EVENTS: &[EventSpec] = &[EventSpec::for_event::<RuleStopped>()];

/// The events that people are told of.
pub const NOTIFICATIONS: &[NotificationSpec] = &[NotificationSpec::new(
    ("automation.rule_stopped", 180),
    (Category::Workflows, Severity::Warning),
    Audience::holders(Permission::AutomationManage),
    CardBuilder::Notice,
)];

impl Automation {
    /// Outcome of a run that must not begin because the rule would go on for ever for its torrent.
    pub(super) async fn refuse_loop(
        &self,
        run: &Run,
        rule: &Rule,
        stop: &CancellationToken,
    ) -> Option<Outcome> {
        let torrent = run.torrent.as_ref()?;
        // A run that was cut off by a crash goes on.
        if run.step > 0 {
            return None;
        }
        let cause = match run.trigger.as_str() {
            SCHEDULE => Cause::Time,
            // Another run of these comes an hour later at the earliest, or after a pause that grows.
            COMPLETED | FAILED => Cause::Bounded,
            _ => Cause::Edge,
        };
        let context: Map<String, Value> = serde_json::from_str(&run.context).unwrap_or_default();
        let number = self.book.number(&rule.id);
        let admitted = {
            let mut guard = self.guard();
            guard.admit(number, torrent, (place_of(&context), cause), self.ctx.now())
        };
        let why = admitted.err()?;
        let text = sentence(&why, &self.book.rules().names_of(&why.others));
        if !why.is_news {
            return Some(Outcome::Looped(text));
        }
        let hash = torrent.hash.as_str();
        tracing::warn!(
            rule = rule.id,
            torrent = hash,
            reason = text,
            "a rule is stopped for a torrent"
        );
        let name = context.get("name").and_then(Value::as_str).unwrap_or(hash);
        let told = RuleStopped {
            rule_id: rule.id.clone(),
            rule_name: rule.name.clone(),
            hash: hash.to_owned(),
            torrent_name: name.to_owned(),
            notice_title: format!("The rule \"{}\" was stopped for {name}", rule.name),
            notice_text: text.clone(),
        };
        while let Err(error) = self.tell_stop(&told).await {
            tracing::warn!(
                rule = rule.id,
                error = as_error(&error),
                "a rule waits for the database"
            );
            let pause = tokio::time::sleep(PAUSE);
            if stop.run_until_cancelled(pause).await.is_none() {
                break;
            }
        }
        Some(Outcome::Looped(text))
    }

    /// Tells people of a rule that is stopped.
    async fn tell_stop(&self, told: &RuleStopped) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        tx.publish(DomainEvent::new(
            &self.ctx,
            EventCause::NONE,
            &*told.rule_id,
            told,
        ));
        tx.commit().await
    }
}

fn sentence(why: &Stop, others: &[String]) -> String {
    let Stop { runs, until, .. } = why;
    let reason = match (why.cause, others) {
        (Cause::Time, []) => {
            format!(
                "within a day it ran {runs} times for it from one place, to which something else took it back"
            )
        }
        (Cause::Time, others) => {
            let others = others.join(", ");
            format!(
                "within a day it ran {runs} times for it from one place, to which another rule took it back ({others})"
            )
        }
        (Cause::Edge | Cause::Bounded, _) => format!("within a day it ran {runs} times for it"),
    };
    format!(
        "The rule does not run for this torrent until {until}: {reason}. A change of any rule lets it run again at once"
    )
}
