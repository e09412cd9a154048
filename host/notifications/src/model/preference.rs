//! How a person wants to be told of an event.

use std::collections::BTreeSet;

use super::catalogue::EventDef;

/// Channels beyond those known by name that one preference names at most.
pub const MAX_OTHERS: usize = 16;

/// How a person wants to be told of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// Off: they are not told at all.
    pub enabled: bool,
    /// It shows in the inbox.
    pub in_app: bool,
    /// Ids of the channels it goes out by; one that is not connected does nothing.
    pub channels: BTreeSet<String>,
}

impl Preference {
    /// That of somebody who never said.
    pub fn of(event: &EventDef) -> Self {
        Self {
            enabled: true,
            in_app: event.default_in_app,
            channels: BTreeSet::new(),
        }
    }

    pub fn goes_by(&self, channel: &str) -> bool {
        self.channels.contains(channel)
    }

    /// Nothing is to be done for this person.
    pub fn is_silent(&self) -> bool {
        !self.enabled || (!self.in_app && self.channels.is_empty())
    }
}

/// What is to change of a preference; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreferenceChange {
    pub enabled: Option<bool>,
    pub in_app: Option<bool>,
    /// Of the channels known by name: id, and whether it is to be on.
    pub switched: Vec<(&'static str, bool)>,
    /// All channels that are to be on beside those known by name.
    pub others: Option<Vec<String>>,
}

impl PreferenceChange {
    pub fn apply(&self, to: &mut Preference) {
        to.enabled = self.enabled.unwrap_or(to.enabled);
        to.in_app = self.in_app.unwrap_or(to.in_app);
        if let Some(others) = &self.others {
            to.channels
                .retain(|id| super::channel::KNOWN.contains(&id.as_str()));
            to.channels.extend(others.iter().cloned());
        }
        for (channel, on) in &self.switched {
            if *on {
                to.channels.insert((*channel).to_owned());
            } else {
                to.channels.remove(*channel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::{CATALOGUE, find};

    fn ids(preference: &Preference) -> Vec<&str> {
        preference.channels.iter().map(String::as_str).collect()
    }

    #[test]
    fn whoever_never_said_hears_in_the_inbox_where_the_event_says_so() {
        for event in CATALOGUE {
            let preference = Preference::of(event);
            assert!(preference.enabled && preference.channels.is_empty());
            assert_eq!(preference.in_app, event.default_in_app, "{}", event.key);
            assert_eq!(preference.is_silent(), !event.default_in_app, "{}", event.key);
        }
    }

    #[test]
    fn what_is_absent_stays() {
        let mut preference = Preference::of(find("torrent.completed").unwrap());
        let before = preference.clone();
        PreferenceChange::default().apply(&mut preference);
        assert_eq!(preference, before);
        let change = PreferenceChange {
            switched: vec![("email", true), ("chat_app_b", true)],
            others: Some(vec!["push".into()]),
            ..PreferenceChange::default()
        };
        change.apply(&mut preference);
        assert_eq!(ids(&preference), ["chat_app_b", "email", "push"]);
        let change = PreferenceChange {
            in_app: Some(false),
            switched: vec![("email", false)],
            ..PreferenceChange::default()
        };
        change.apply(&mut preference);
        assert_eq!(ids(&preference), ["chat_app_b", "push"]);
        assert!(!preference.is_silent(), "it goes out by channels");
        let change = PreferenceChange {
            others: Some(vec![]),
            ..PreferenceChange::default()
        };
        change.apply(&mut preference);
        assert_eq!(
            ids(&preference),
            ["chat_app_b"],
            "those known by name have switches of their own"
        );
    }

    #[test]
    fn off_is_off_whatever_else_is_on() {
        let mut preference = Preference::of(find("torrent.completed").unwrap());
        let change = PreferenceChange {
            enabled: Some(false),
            switched: vec![("email", true)],
            ..PreferenceChange::default()
        };
        change.apply(&mut preference);
        assert!(preference.is_silent());
    }
}
