//! The audit trail as a dashboard tells it: what happened, in words, with like events on one line.
//!
//! Pure: rows in, lines out. Bounds: [`ROWS`] rows are looked at, [`LINES`] lines come out.

use std::collections::HashMap;

use qm_kernel::Timestamp;
use serde_json::Value;

/// Lines shown.
pub const LINES: usize = 15;

/// Rows they are made of.
pub const ROWS: u32 = LINES as u32 * 8;

/// Each of these is news of its own.
const NEVER_COLLAPSED: &[&str] = &[
    "media.rename",
    "media_acquisition.download.executed",
    "media_acquisition.upgrade.executed",
    "media_acquisition.download.failed",
];

/// The action whose rows are kept apart by the rule that ran, not only by the user who caused it.
const RULE_EXECUTED: &str = "automation.rule.executed";

/// Subjects a line of several events names.
const NAMED: usize = 2;

/// Where an audit row says what it was about; the first text found is taken.
const SUBJECTS: &[&str] = &[
    "name",
    "title",
    "releaseTitle",
    "releaseName",
    "ruleName",
    "rule",
    "keyName",
];

/// Texts for actions whose own names read badly.
const PHRASES: &[(&str, &str)] = &[
    ("auth.login", "Signed in"),
    ("torrents.add", "Torrent added"),
    ("torrents.delete", "Torrent removed"),
    ("torrents.delete_data", "Torrent removed with its data"),
    ("torrents.recheck", "Torrent rechecked"),
    ("torrents.bulk.removeData", "Torrents bulk remove with data"),
];

/// An audit row.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    pub action: String,
    pub failed: bool,
    pub user_id: Option<String>,
    /// The user's display name or user name; `None` when there is no such user.
    pub user: Option<String>,
    pub metadata: Option<Value>,
    pub at: Timestamp,
}

/// The level that a line is shown with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Success,
    Error,
}

/// One line, or one event of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub id: String,
    pub action: String,
    pub message: String,
    /// `<n> events` of a line that stands for several.
    pub detail: Option<String>,
    pub level: Level,
    pub at: Timestamp,
    /// The events that a line stands for, newest first; empty when it stands for one event.
    pub events: Vec<Line>,
}

/// The properties that all rows of one line share.
#[derive(PartialEq, Eq, Hash)]
struct Kind<'a> {
    action: &'a str,
    failed: bool,
    user_id: Option<&'a str>,
    rule: Option<&'a str>,
}

impl Event {
    fn kind(&self) -> Option<Kind<'_>> {
        (!NEVER_COLLAPSED.contains(&self.action.as_str())).then(|| Kind {
            action: &self.action,
            failed: self.failed,
            user_id: self.user_id.as_deref(),
            rule: (self.action == RULE_EXECUTED)
                .then(|| self.text("rule"))
                .flatten(),
        })
    }

    fn subject(&self) -> Option<&str> {
        SUBJECTS.iter().find_map(|name| self.text(name))
    }

    fn text(&self, name: &str) -> Option<&str> {
        let text = self.metadata.as_ref()?.get(name)?.as_str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    fn level(&self) -> Level {
        let says = |words: &[&str]| words.iter().any(|word| self.action.contains(word));
        if self.failed || says(&["fail", "error"]) {
            Level::Error
        } else if says(&[
            "complet", "created", "added", "approved", "enabled", "restore", "import",
        ]) {
            Level::Success
        } else {
            Level::Info
        }
    }

    fn message(&self, subjects: Option<&str>) -> String {
        let mut message = self.verb();
        if let Some(subjects) = subjects {
            message.push_str(": ");
            message.push_str(subjects);
        }
        if let Some(user) = &self.user {
            message.push_str(" · ");
            message.push_str(user);
        }
        message
    }

    fn verb(&self) -> String {
        if self.action == "auth.login" && self.failed {
            return "Sign-in failed".to_owned();
        }
        if let Some((_, phrase)) = PHRASES.iter().find(|(action, _)| *action == self.action) {
            return (*phrase).to_owned();
        }
        let words = self.action.replace(['.', '_'], " ");
        let mut letters = words.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect())
            .unwrap_or_default()
    }

    fn line(&self, subjects: Option<&str>, detail: Option<String>, events: Vec<Line>) -> Line {
        Line {
            id: self.id.clone(),
            action: self.action.clone(),
            message: self.message(subjects),
            detail,
            level: self.level(),
            at: self.at,
            events,
        }
    }

    fn single(&self) -> Line {
        self.line(self.subject(), None, Vec::new())
    }
}

/// The lines of `events`, which come newest first: rows of equal action, result and user are one line, where the newest
/// of them stands.
pub fn lines(events: &[Event]) -> Vec<Line> {
    let mut groups: Vec<Vec<&Event>> = Vec::new();
    let mut positions: HashMap<Kind<'_>, usize> = HashMap::new();
    for event in events {
        let next = groups.len();
        let position = event
            .kind()
            .map_or(next, |kind| *positions.entry(kind).or_insert(next));
        match groups.get_mut(position) {
            Some(group) => group.push(event),
            None => groups.push(vec![event]),
        }
    }
    groups
        .iter()
        .take(LINES)
        .filter_map(|group| line_of(group))
        .collect()
}

fn line_of(group: &[&Event]) -> Option<Line> {
    let (newest, older) = group.split_first()?;
    if older.is_empty() {
        return Some(newest.single());
    }
    let mut subjects: Vec<&str> = Vec::new();
    for subject in group.iter().filter_map(|event| event.subject()) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let named = match subjects.len() {
        0 => None,
        count if count > NAMED => Some(format!(
            "{} +{} more",
            subjects[..NAMED].join(", "),
            count - NAMED
        )),
        _ => Some(subjects.join(", ")),
    };
    let events = group.iter().map(|event| event.single()).collect();
    let detail = Some(format!("{} events", group.len()));
    Some(newest.line(named.as_deref(), detail, events))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn event(id: usize, action: &str, failed: bool, user: Option<&str>, metadata: Value) -> Event {
        Event {
            id: id.to_string(),
            action: action.into(),
            failed,
            user_id: user.map(Into::into),
            user: user.map(|user| format!("The {user}")),
            metadata: Some(metadata),
            at: Timestamp::from_ms(1_000_000 - id as i64),
        }
    }

    fn named(id: usize, action: &str, name: &str) -> Event {
        event(id, action, false, Some("u"), json!({ "name": name }))
    }

    #[test]
    fn one_event_is_told_in_words() {
        for (action, failed, message, level) in [
            ("torrents.add", false, "Torrent added: x · The u", Level::Info),
            ("engines.create", false, "Engines create: x · The u", Level::Info),
            (
                "account.2fa_enabled",
                false,
                "Account 2fa enabled: x · The u",
                Level::Success,
            ),
            (
                "file.created_folder",
                false,
                "File created folder: x · The u",
                Level::Success,
            ),
            ("auth.login", false, "Signed in: x · The u", Level::Info),
            ("auth.login", true, "Sign-in failed: x · The u", Level::Error),
            (
                "media.metadata.fetch_failed",
                false,
                "Media metadata fetch failed: x · The u",
                Level::Error,
            ),
            ("engines.create", true, "Engines create: x · The u", Level::Error),
        ] {
            let told = lines(&[event(0, action, failed, Some("u"), json!({ "name": "x" }))]);
            assert_eq!(
                (told[0].message.as_str(), told[0].level),
                (message, level),
                "{action}"
            );
            assert_eq!((&told[0].detail, told[0].events.len()), (&None, 0));
        }
        let bare = event(
            0,
            "torrents.stop",
            false,
            None,
            json!({ "name": " ", "title": 5 }),
        );
        assert_eq!(lines(&[bare])[0].message, "Torrents stop");
    }

    #[test]
    fn like_events_are_one_line_where_the_newest_stands() {
        let mut rows = vec![
            named(0, "torrents.add", "a"),
            named(1, "torrents.stop", "s"),
            named(2, "torrents.add", "b"),
            named(3, "torrents.add", "a"),
            named(4, "torrents.add", "c"),
            named(5, "torrents.add", "d"),
        ];
        let told = lines(&rows);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].message, "Torrent added: a, b +2 more · The u");
        assert_eq!(
            (told[0].id.as_str(), told[0].detail.as_deref()),
            ("0", Some("5 events"))
        );
        let members: Vec<&str> = told[0].events.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(members, ["0", "2", "3", "4", "5"]);
        assert_eq!(told[0].events[1].message, "Torrent added: b · The u");
        rows.truncate(4);
        assert_eq!(lines(&rows)[0].message, "Torrent added: a, b · The u");
        rows.extend([
            event(6, "torrents.add", true, Some("u"), json!({})),
            event(7, "torrents.add", false, Some("v"), json!({})),
            event(8, "torrents.add", false, None, json!({})),
            named(9, "media.rename", "x"),
            named(10, "media.rename", "x"),
        ]);
        assert_eq!(lines(&rows).len(), 7);
    }

    #[test]
    fn rules_have_a_line_each() {
        let ran = |id, rule: &str| event(id, RULE_EXECUTED, false, None, json!({ "rule": rule }));
        let told = lines(&[ran(0, "a"), ran(1, "b"), ran(2, "a")]);
        let messages: Vec<&str> = told.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(
            messages,
            ["Automation rule executed: a", "Automation rule executed: b"]
        );
        // Anybody else's `rule` is but a subject.
        let other = |id, rule: &str| event(id, "x.y", false, None, json!({ "rule": rule }));
        assert_eq!(lines(&[other(0, "a"), other(1, "b")])[0].message, "X y: a, b");
    }

    prop_compose! {
        fn rows()(
            rows in prop::collection::vec(
                (
                    prop::sample::select(vec![
                        "torrents.add", "torrents.stop", "media.rename", "media_acquisition.download.failed",
                        RULE_EXECUTED, "auth.login",
                    ]),
                    any::<bool>(),
                    prop::option::of(prop::sample::select(vec!["u", "v"])),
                    prop::option::of(prop::sample::select(vec!["a", "b", "c"])),
                ),
                0..ROWS as usize,
            )
        ) -> Vec<Event> {
            rows.into_iter().enumerate().map(|(id, (action, failed, user, rule))| {
                event(id, action, failed, user, json!({ "rule": rule }))
            }).collect()
        }
    }

    proptest! {
        /// No row that is shown is lost, and none is shown twice. Two lines of one kind never stand side by side. Lines
        /// come newest first, and each is its newest row.
        #[test]
        fn every_row_is_on_one_line(rows in rows()) {
            let told = lines(&rows);
            prop_assert!(told.len() <= LINES);
            prop_assert!(told.is_sorted_by(|a, b| a.at > b.at));
            let mut kinds = HashSet::new();
            let mut shown = HashSet::new();
            for line in &told {
                let members: Vec<&str> = if line.events.is_empty() {
                    vec![&line.id]
                } else {
                    prop_assert!(line.events.len() > 1);
                    prop_assert!(line.events.is_sorted_by(|a, b| a.at > b.at));
                    prop_assert_eq!(&line.detail, &Some(format!("{} events", line.events.len())));
                    line.events.iter().map(|event| event.id.as_str()).collect()
                };
                prop_assert_eq!(members[0], &line.id);
                let of = |id: &str| &rows[id.parse::<usize>().unwrap()];
                let first = of(&line.id);
                for id in &members {
                    prop_assert!(shown.insert((*id).to_owned()));
                    prop_assert!(of(id).kind() == first.kind());
                }
                match first.kind() {
                    Some(kind) => prop_assert!(kinds.insert(kind)),
                    None => prop_assert_eq!(members.len(), 1),
                }
            }
            // Whatever is missing belongs to lines that there was no room for.
            for row in &rows {
                let missing = !shown.contains(&row.id);
                prop_assert!(!missing || (told.len() == LINES && row.kind().is_none_or(|kind| !kinds.contains(&kind))));
            }
        }
    }
}
