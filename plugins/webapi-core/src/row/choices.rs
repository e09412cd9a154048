//! Choices of users that stand on a torrent: its place in the queue, the order of its pieces, limits, and the path of what is incomplete.

use std::rc::Rc;

use engine_model::{Limit, ShareAction, ShareLimits, Torrent};

use super::{Field, put};
use crate::values::{Flag, Num};

/// The client's number for "as it is set".
const INHERIT: f64 = -2.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    pub(super) download_path: Rc<str>,
    /// 0 outside of the queue.
    queue: u32,
    sequential: Option<bool>,
    first_last_piece: Option<bool>,
    super_seeding: Option<bool>,
    force_started: Option<bool>,
    auto_managed: Option<bool>,
    upload_limit: Option<u64>,
    download_limit: Option<u64>,
    /// None while the client tells none.
    ratio: Option<Limit<f64>>,
    seeding_seconds: Limit<u64>,
    inactive_seconds: Limit<u64>,
    action: ShareAction,
}

impl Choices {
    pub(super) fn take_flag(&mut self, field: Field, flag: Flag) -> bool {
        let place = match field {
            Field::Sequential => &mut self.sequential,
            Field::FirstLastPiece => &mut self.first_last_piece,
            Field::SuperSeeding => &mut self.super_seeding,
            Field::ForceStart => &mut self.force_started,
            Field::AutoManaged => &mut self.auto_managed,
            _ => return false,
        };
        flag.0.is_some_and(|flag| put(place, Some(flag)))
    }

    pub(super) fn take_number(&mut self, field: Field, n: Num) -> bool {
        match field {
            Field::Queue => put(&mut self.queue, n.small()),
            // Below 0 is "none" to some versions.
            Field::UploadLimit => put(&mut self.upload_limit, Some(n.unsigned())),
            Field::DownloadLimit => put(&mut self.download_limit, Some(n.unsigned())),
            Field::RatioLimit => put(&mut self.ratio, Some(limit_of(n.float(), |ratio| ratio))),
            Field::SeedingTimeLimit => put(&mut self.seeding_seconds, limit_of(n.float(), seconds)),
            Field::InactiveTimeLimit => put(&mut self.inactive_seconds, limit_of(n.float(), seconds)),
            _ => false,
        }
    }

    pub(super) fn take_action(&mut self, word: Option<ShareAction>) -> bool {
        word.is_some_and(|action| put(&mut self.action, action))
    }

    pub(super) fn is_sequential(&self) -> bool {
        self.sequential == Some(true)
    }

    pub(super) fn is_first_last_piece(&self) -> bool {
        self.first_last_piece == Some(true)
    }

    pub(super) fn is_auto_managed(&self) -> bool {
        self.auto_managed == Some(true)
    }

    pub(super) fn put_into(&self, torrent: &mut Torrent) {
        torrent.download_path = (!self.download_path.is_empty()).then(|| self.download_path.to_string());
        torrent.queue_position = (self.queue > 0).then_some(self.queue);
        torrent.sequential = self.sequential;
        torrent.first_last_piece = self.first_last_piece;
        torrent.super_seeding = self.super_seeding;
        torrent.force_started = self.force_started;
        torrent.auto_managed = self.auto_managed;
        torrent.upload_limit = self.upload_limit;
        torrent.download_limit = self.download_limit;
        torrent.share_limits = self.ratio.map(|ratio| ShareLimits {
            ratio,
            seeding_seconds: self.seeding_seconds,
            inactive_seconds: self.inactive_seconds,
            action: self.action,
        });
    }
}

/// The client counts in minutes.
fn seconds(minutes: f64) -> u64 {
    (minutes * 60.0) as u64 // saturates
}

fn limit_of<T>(told: f64, value: impl FnOnce(f64) -> T) -> Limit<T> {
    if told <= INHERIT {
        Limit::Inherit
    } else if told < 0.0 {
        Limit::Unlimited
    } else {
        Limit::At(value(told))
    }
}

/// The client's words for what happens at a limit of sharing.
const ACTIONS: [(&str, ShareAction); 5] = [
    ("Default", ShareAction::Inherit),
    ("Stop", ShareAction::Stop),
    ("Remove", ShareAction::Remove),
    ("RemoveWithContent", ShareAction::RemoveWithData),
    ("EnableSuperSeeding", ShareAction::SuperSeed),
];

pub(super) fn action_of(word: &str) -> Option<ShareAction> {
    let known = ACTIONS.iter().find(|(known, _)| *known == word);
    known.map(|(_, action)| *action)
}

/// The client's word for an action.
pub(crate) fn word_of(action: ShareAction) -> &'static str {
    let known = ACTIONS.iter().find(|(_, known)| *known == action);
    known.map_or("Default", |(word, _)| word)
}

/// A limit of a ratio as the client takes it.
pub(crate) fn ratio_text(limit: Limit<f64>) -> String {
    match limit {
        Limit::Inherit => "-2".to_owned(),
        Limit::Unlimited => "-1".to_owned(),
        Limit::At(ratio) => ratio.max(0.0).to_string(),
    }
}

/// A limit of seconds as the client takes it: in minutes, of which a part counts as a whole one.
pub(crate) fn minutes_text(limit: Limit<u64>) -> String {
    match limit {
        Limit::Inherit => "-2".to_owned(),
        Limit::Unlimited => "-1".to_owned(),
        Limit::At(seconds) => seconds.div_ceil(60).min(i32::MAX as u64).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_keep_inherit_none_and_a_value_apart() {
        for (limit, minutes) in [
            (Limit::Inherit, "-2"),
            (Limit::Unlimited, "-1"),
            (Limit::At(0), "0"),
            (Limit::At(61), "2"),
        ] {
            assert_eq!(minutes_text(limit), minutes);
        }
        assert_eq!(ratio_text(Limit::At(1.25)), "1.25");
        assert_eq!(limit_of(-2.0, seconds), Limit::Inherit);
        assert_eq!(limit_of(-1.0, seconds), Limit::Unlimited);
        assert_eq!(limit_of(2.0, seconds), Limit::At(120));
        assert_eq!(limit_of(0.0, |ratio| ratio), Limit::At(0.0));
    }

    #[test]
    fn actions_have_one_word_each() {
        for (word, action) in ACTIONS {
            assert_eq!((action_of(word), word_of(action)), (Some(action), word));
        }
        assert_eq!(action_of("something later"), None);
    }
}
