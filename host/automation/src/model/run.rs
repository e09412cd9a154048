//! A decided run of a rule, and its end.

use qm_ports::action::TorrentRef;

use super::rule::Rule;

/// A decided run.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    pub id: String,
    pub rule_id: String,
    pub trigger: String,
    pub torrent: Option<TorrentRef>,
    /// JSON of the torrent or the event.
    pub context: String,
    /// Outbox position at the decision; for an edge, that of its event.
    pub position: i64,
    pub is_backfill: bool,
    pub sequence: i64,
}

/// A waiting run, with the data that decides if it may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub id: String,
    pub rule_id: String,
    /// User who wrote the rule; `None`: nobody is known.
    pub author: Option<String>,
    pub hash: Option<String>,
}

/// A run that has begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: String,
    pub rule_id: String,
    pub trigger: String,
    pub torrent: Option<TorrentRef>,
    pub context: String,
    pub position: i64,
    pub is_backfill: bool,
    /// Index of the next action; of an interrupted run, the action begun last.
    pub step: usize,
    /// `updated_at` of the rule at the begin of the run.
    pub rule_version: Option<i64>,
}

impl Run {
    pub fn hash(&self) -> Option<&str> {
        self.torrent.as_ref().map(|torrent| torrent.hash.as_str())
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Failed; a completion rule runs again with the next pass.
    Failed(String),
    /// Interrupted with unknown effect, and a repetition might do harm: it counts as finished.
    CutOff(String),
    /// The author lacks a permission. The rule is paused for a while.
    Held(String),
    /// Not begun, because it would go on for ever.
    Looped(String),
}

impl Outcome {
    pub const fn status(&self) -> &'static str {
        match self {
            Outcome::Done => "success",
            Outcome::Failed(_) | Outcome::CutOff(_) | Outcome::Held(_) | Outcome::Looped(_) => "failed",
        }
    }

    pub fn message(&self) -> Option<&str> {
        match self {
            Outcome::Done => None,
            Outcome::Failed(message)
            | Outcome::CutOff(message)
            | Outcome::Held(message)
            | Outcome::Looped(message) => Some(message),
        }
    }

    /// True when the rule is finished with this torrent.
    pub const fn settles(&self) -> bool {
        matches!(self, Outcome::Done | Outcome::CutOff(_))
    }
}

/// Treatment of a run that was interrupted by a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Its last action is repeated.
    Again,
    /// The effect of its last action is unknown.
    CutOff(String),
}

/// Decides about an interrupted run; `is_idempotent` tells if an action may safely run twice.
pub fn recovery(run: &Run, rule: &Rule, is_idempotent: impl Fn(&str) -> bool) -> Recovery {
    if run.rule_version != Some(rule.updated_at.ms()) {
        return Recovery::CutOff(
            "The server ended while the rule ran, and the rule was changed since: nobody knows which of its actions took \
             effect, so it does not run again for this"
                .to_owned(),
        );
    }
    let Some(action) = rule.actions.get(run.step) else {
        // Every action had ended; only the result was not stored.
        return Recovery::Again;
    };
    let kind = super::rule::type_of(action);
    if is_idempotent(kind) {
        Recovery::Again
    } else {
        Recovery::CutOff(format!(
            "The server ended while the action \"{kind}\" ran: nobody knows whether it took effect, and running it twice may \
             do harm, so the rule does not run again for this"
        ))
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_does_no_harm_is_begun_again() {
        let rule = Rule {
            id: "r".into(),
            name: "r".into(),
            description: None,
            trigger: "torrent.completed".into(),
            conditions: vec![],
            actions: vec![json!({ "type": "pause" }), json!({ "type": "webhook" }), json!(5)],
            is_enabled: true,
            priority: 0,
            author: Some("u".into()),
            schedule: None,
            scheduled_from: None,
            stalled_hours: None,
            created_at: Timestamp::from_ms(1),
            updated_at: Timestamp::from_ms(7),
        };
        let at = |step, rule_version| Run {
            id: "x".into(),
            rule_id: "r".into(),
            trigger: rule.trigger.clone(),
            torrent: None,
            context: "{}".into(),
            position: 0,
            is_backfill: false,
            step,
            rule_version,
        };
        let judge = |run| recovery(&run, &rule, |kind| kind == "pause");
        assert_eq!(judge(at(0, Some(7))), Recovery::Again);
        assert!(matches!(judge(at(1, Some(7))), Recovery::CutOff(why) if why.contains("\"webhook\"")));
        assert!(
            matches!(judge(at(2, Some(7))), Recovery::CutOff(_)),
            "what is no action is none that may be repeated"
        );
        assert_eq!(judge(at(3, Some(7))), Recovery::Again, "nothing is left to do");
        assert!(
            matches!(judge(at(3, Some(6))), Recovery::CutOff(_)),
            "there may have been more to do"
        );
        assert!(matches!(judge(at(0, Some(6))), Recovery::CutOff(why) if why.contains("changed")));
    }
}
