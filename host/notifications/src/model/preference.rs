//! Preference of a user for an event.

use std::collections::BTreeSet;

use qm_platform::notification::NotificationSpec;

/// Largest number of channels in a preference beside those known by name.
pub const MAX_OTHERS: usize = 16;

/// Preference of a user for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// Off: they are not told at all.
    pub enabled: bool,
    /// It shows in the inbox.
    pub in_app: bool,
    /// Ids of the channels to send by; one that is not connected has no effect.
    pub channels: BTreeSet<String>,
}

impl Preference {
    /// The default preference.
    pub fn default_for(event: &NotificationSpec) -> Self {
        Self {
            enabled: true,
            in_app: event.default_in_app,
            channels: BTreeSet::new(),
        }
    }

    pub fn goes_by(&self, channel: &str) -> bool {
        self.channels.contains(channel)
    }

    /// True when nothing is to be stored or sent.
    pub fn is_silent(&self) -> bool {
        !self.enabled || (!self.in_app && self.channels.is_empty())
    }
}

/// Change of a preference; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreferenceChange {
    pub enabled: Option<bool>,
    pub in_app: Option<bool>,
    /// Channels known by name: id, and the new state.
    pub switched: Vec<(&'static str, bool)>,
    /// All other channels to send by.
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
    use crate::testing::{CATALOGUE, find_spec};

    fn ids(preference: &Preference) -> Vec<&str> {
        preference.channels.iter().map(String::as_str).collect()
    }

    #[test]
    fn whoever_never_said_hears_in_the_inbox_where_the_event_says_so() {
        for event in &CATALOGUE {
            let preference = Preference::default_for(event);
            assert!(preference.enabled && preference.channels.is_empty());
            assert_eq!(preference.in_app, event.default_in_app, "{}", event.key);
            assert_eq!(preference.is_silent(), !event.default_in_app, "{}", event.key);
        }
    }

    #[test]
    fn what_is_absent_stays() {
        let mut preference = Preference::default_for(find_spec("torrent.completed").unwrap());
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
        let mut preference = Preference::default_for(find_spec("torrent.completed").unwrap());
        let change = PreferenceChange {
            enabled: Some(false),
            switched: vec![("email", true)],
            ..PreferenceChange::default()
        };
        change.apply(&mut preference);
        assert!(preference.is_silent());
    }
}
