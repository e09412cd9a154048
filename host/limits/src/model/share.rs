//! Limits of sharing: layers of limits, what they come to for a torrent, and whether the torrent has reached one. Pure.

use std::sync::Arc;

use qm_kernel::{Permission, Timestamp};
use qm_ports::engine::{Limit, ShareAction, ShareLimits, Torrent, TorrentState};

/// Action at a limit where no layer names one.
pub const DEFAULT_ACTION: ShareAction = ShareAction::Stop;

/// Words of the actions, in API and database.
pub const ACTIONS: &[&str] = &["stop", "remove", "removeWithData", "superSeed"];

/// Word of an action; none for one that is inherited.
pub const fn action_word(action: ShareAction) -> Option<&'static str> {
    match action {
        ShareAction::Inherit => None,
        ShareAction::Stop => Some("stop"),
        ShareAction::Remove => Some("remove"),
        ShareAction::RemoveWithData => Some("removeWithData"),
        ShareAction::SuperSeed => Some("superSeed"),
    }
}

/// Action of a word; an unknown word inherits.
pub fn read_action(word: &str) -> ShareAction {
    match word {
        "stop" => ShareAction::Stop,
        "remove" => ShareAction::Remove,
        "removeWithData" => ShareAction::RemoveWithData,
        "superSeed" => ShareAction::SuperSeed,
        _ => ShareAction::Inherit,
    }
}

/// Permission by which a person does the same by hand.
pub const fn permission_of(action: ShareAction) -> Permission {
    match action {
        ShareAction::Inherit | ShareAction::Stop => Permission::TorrentsStop,
        ShareAction::Remove => Permission::TorrentsDelete,
        ShareAction::RemoveWithData => Permission::TorrentsDeleteData,
        ShareAction::SuperSeed => Permission::TorrentsManageLimits,
    }
}

/// Permissions of whoever sets limits on a torrent.
pub const ON_TORRENT: &[Permission] = &[Permission::TorrentsManageLimits];
/// The same on a category.
pub const ON_CATEGORY: &[Permission] = &[Permission::CategoriesManage, Permission::TorrentsManageLimits];
/// The same on an engine.
pub const ON_ENGINE: &[Permission] = &[Permission::EnginesManage, Permission::TorrentsManageLimits];

/// Things that limits are set on, the most specific first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Torrent { engine_id: String, hash: String },
    Category(String),
    Engine(String),
}

impl Scope {
    /// Word in API and audit.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Torrent { .. } => "torrent",
            Self::Category(_) => "category",
            Self::Engine(_) => "engine",
        }
    }

    /// Key of its row.
    pub fn key(&self) -> String {
        match self {
            Self::Torrent { engine_id, hash } => format!("torrent:{engine_id}:{hash}"),
            Self::Category(id) => format!("category:{id}"),
            Self::Engine(id) => format!("engine:{id}"),
        }
    }

    /// Permissions of whoever sets its limits.
    pub const fn permissions(&self) -> &'static [Permission] {
        match self {
            Self::Torrent { .. } => ON_TORRENT,
            Self::Category(_) => ON_CATEGORY,
            Self::Engine(_) => ON_ENGINE,
        }
    }
}

/// Limits that one user set on one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    pub scope: Scope,
    pub limits: ShareLimits,
    /// Id of the user; they may be gone.
    pub set_by: String,
    pub set_at: Timestamp,
}

/// A value in force, and the layer that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    pub value: T,
    pub layer: Arc<Layer>,
}

/// Limits in force for a torrent; a field that no layer sets is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effective {
    pub ratio: Option<Found<Limit<f64>>>,
    pub seeding: Option<Found<Limit<u64>>>,
    pub inactive: Option<Found<Limit<u64>>>,
    pub action: Option<Found<ShareAction>>,
}

fn limit_of<T: Copy>(found: Option<&Found<Limit<T>>>) -> Option<T> {
    match found?.value {
        Limit::At(limit) => Some(limit),
        Limit::Unlimited | Limit::Inherit => None,
    }
}

impl Effective {
    /// Merges layers, the most specific first: each field is that of the first layer which sets it.
    pub fn merge<'a>(layers: impl IntoIterator<Item = &'a Arc<Layer>>) -> Self {
        let mut merged = Self::default();
        for layer in layers {
            let limits = layer.limits;
            fill(
                &mut merged.ratio,
                limits.ratio,
                limits.ratio == Limit::Inherit,
                layer,
            );
            let (seeding, inactive) = (limits.seeding_time, limits.inactive_time);
            fill(&mut merged.seeding, seeding, seeding == Limit::Inherit, layer);
            fill(&mut merged.inactive, inactive, inactive == Limit::Inherit, layer);
            let action = limits.action;
            fill(&mut merged.action, action, action == ShareAction::Inherit, layer);
        }
        merged
    }

    pub fn ratio_limit(&self) -> Option<f64> {
        limit_of(self.ratio.as_ref())
    }

    pub fn seeding_limit(&self) -> Option<u64> {
        limit_of(self.seeding.as_ref())
    }

    pub fn inactive_limit(&self) -> Option<u64> {
        limit_of(self.inactive.as_ref())
    }

    pub fn action(&self) -> ShareAction {
        self.action.as_ref().map_or(DEFAULT_ACTION, |found| found.value)
    }

    /// True when no limit is in force.
    pub fn is_endless(&self) -> bool {
        self.ratio_limit().is_none() && !self.needs_time()
    }

    /// True when a limit of time is in force.
    pub fn needs_time(&self) -> bool {
        self.seeding_limit().is_some() || self.inactive_limit().is_some()
    }

    /// Text that changes when a value does, whoever set it.
    pub fn fingerprint(&self) -> String {
        let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        format!(
            "{};{};{};{}",
            text(self.ratio_limit().map(|limit| limit.to_string())),
            text(self.seeding_limit().map(|limit| limit.to_string())),
            text(self.inactive_limit().map(|limit| limit.to_string())),
            action_word(self.action()).unwrap_or_default(),
        )
    }

    /// Layers that an action at this limit rests on: that of the limit and that of the action.
    pub fn layers_behind(&self, reached: Reached) -> Vec<Arc<Layer>> {
        let limit = match reached {
            Reached::Ratio => self.ratio.as_ref().map(|found| &found.layer),
            Reached::SeedingTime => self.seeding.as_ref().map(|found| &found.layer),
            Reached::InactiveTime => self.inactive.as_ref().map(|found| &found.layer),
        };
        let action = self.action.as_ref().map(|found| &found.layer);
        let mut layers: Vec<Arc<Layer>> = limit.into_iter().chain(action).cloned().collect();
        layers.dedup_by(|a, b| Arc::ptr_eq(a, b));
        layers
    }
}

fn fill<T>(field: &mut Option<Found<T>>, value: T, inherits: bool, layer: &Arc<Layer>) {
    if field.is_none() && !inherits {
        *field = Some(Found {
            value,
            layer: layer.clone(),
        });
    }
}

/// Limit that a torrent has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    Ratio,
    SeedingTime,
    InactiveTime,
}

impl Reached {
    /// Word in API, audit and database.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::SeedingTime => "seedingTime",
            Self::InactiveTime => "inactiveSeedingTime",
        }
    }
}

/// Facts that limits are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    pub ratio: f64,
    /// Seconds seeded in all; none when nobody knows.
    pub seeded: Option<u64>,
    /// Seconds seeded since content last moved; none when nobody knows.
    pub idle: Option<u64>,
}

/// Answer of the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Reached(Reached),
    /// Nothing is reached; as things are, a limit of time is in so many seconds.
    In(u64),
    /// Nothing is reached, and nothing will be by the clock alone.
    Open,
}

/// True for a torrent that limits are held against: it is complete and seeds, or waits in a queue to seed. One that a person
/// started past all limits is left alone.
pub fn is_sharing(torrent: &Torrent) -> bool {
    let seeds = matches!(torrent.state, TorrentState::Seeding | TorrentState::Queued);
    seeds && torrent.progress >= 1.0 && torrent.force_started != Some(true)
}

/// Holds facts against limits. The first limit in the order ratio, seeding time, inactive time counts; what is unknown reaches
/// none.
pub fn judge(effective: &Effective, facts: &Facts) -> Verdict {
    if effective
        .ratio_limit()
        .is_some_and(|limit| facts.ratio.is_finite() && facts.ratio >= limit)
    {
        return Verdict::Reached(Reached::Ratio);
    }
    let times = [
        (effective.seeding_limit(), facts.seeded, Reached::SeedingTime),
        (effective.inactive_limit(), facts.idle, Reached::InactiveTime),
    ];
    let mut soonest = None;
    for (limit, passed, reached) in times {
        let (Some(limit), Some(passed)) = (limit, passed) else {
            continue;
        };
        if passed >= limit {
            return Verdict::Reached(reached);
        }
        let left = limit - passed;
        soonest = Some(soonest.map_or(left, |before: u64| before.min(left)));
    }
    soonest.map_or(Verdict::Open, Verdict::In)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_test_base::engine::torrent;

    use super::*;

    fn layer(scope: Scope, limits: ShareLimits) -> Arc<Layer> {
        Arc::new(Layer {
            scope,
            limits,
            set_by: "u".to_owned(),
            set_at: Timestamp::from_ms(0),
        })
    }

    fn scopes() -> [Scope; 3] {
        let torrent = Scope::Torrent {
            engine_id: "e".to_owned(),
            hash: "h".to_owned(),
        };
        [
            torrent,
            Scope::Category("c".to_owned()),
            Scope::Engine("e".to_owned()),
        ]
    }

    fn limits(ratio: Limit<f64>, seeding_time: Limit<u64>, inactive_time: Limit<u64>) -> ShareLimits {
        ShareLimits {
            ratio,
            seeding_time,
            inactive_time,
            action: ShareAction::Inherit,
        }
    }

    #[test]
    fn each_field_is_that_of_the_most_specific_layer_which_sets_it() {
        let [torrent, category, engine] = scopes();
        let of_torrent = layer(torrent, limits(Limit::Inherit, Limit::Unlimited, Limit::Inherit));
        let of_category = layer(
            category,
            ShareLimits {
                action: ShareAction::Remove,
                ..limits(Limit::At(2.0), Limit::At(60), Limit::Inherit)
            },
        );
        let of_engine = layer(
            engine,
            ShareLimits {
                action: ShareAction::Stop,
                ..limits(Limit::At(1.0), Limit::At(30), Limit::At(10))
            },
        );
        let merged = Effective::merge([&of_torrent, &of_category, &of_engine]);
        assert_eq!(merged.ratio_limit(), Some(2.0));
        assert_eq!(merged.seeding_limit(), None, "an explicit none ends inheritance");
        assert_eq!(merged.seeding.as_ref().unwrap().layer.scope.word(), "torrent");
        assert_eq!(merged.inactive_limit(), Some(10));
        assert_eq!(merged.action(), ShareAction::Remove);
        let behind: Vec<_> = merged.layers_behind(Reached::InactiveTime);
        let words: Vec<_> = behind.iter().map(|layer| layer.scope.word()).collect();
        assert_eq!(words, ["engine", "category"]);
        assert_eq!(merged.layers_behind(Reached::Ratio).len(), 1);
        let nothing = Effective::merge([]);
        assert!(nothing.is_endless());
        assert_eq!(nothing.action(), ShareAction::Stop);
    }

    #[test]
    fn a_torrent_is_judged_by_this_table() {
        let (none, set) = (Limit::Unlimited, Limit::At(100));
        let facts = |ratio, seeded, idle| Facts { ratio, seeded, idle };
        for (limits, facts, verdict) in [
            (
                limits(Limit::At(1.5), none, none),
                facts(1.49, None, None),
                Verdict::Open,
            ),
            (
                limits(Limit::At(1.5), none, none),
                facts(1.5, None, None),
                Verdict::Reached(Reached::Ratio),
            ),
            (
                limits(Limit::At(0.0), none, none),
                facts(0.0, None, None),
                Verdict::Reached(Reached::Ratio),
            ),
            (
                limits(Limit::At(0.0), none, none),
                facts(f64::NAN, None, None),
                Verdict::Open,
            ),
            (
                limits(Limit::Unlimited, none, none),
                facts(99.0, Some(99), Some(99)),
                Verdict::Open,
            ),
            (
                limits(Limit::Unlimited, set, none),
                facts(9.0, Some(99), None),
                Verdict::In(1),
            ),
            (
                limits(Limit::Unlimited, set, none),
                facts(0.0, Some(100), None),
                Verdict::Reached(Reached::SeedingTime),
            ),
            (
                limits(Limit::Unlimited, set, set),
                facts(0.0, None, None),
                Verdict::Open,
            ),
            (
                limits(Limit::Unlimited, set, set),
                facts(0.0, None, Some(40)),
                Verdict::In(60),
            ),
            (
                limits(Limit::Unlimited, set, set),
                facts(0.0, Some(90), Some(40)),
                Verdict::In(10),
            ),
            (
                limits(Limit::Unlimited, set, set),
                facts(0.0, Some(90), Some(100)),
                Verdict::Reached(Reached::InactiveTime),
            ),
            (
                limits(Limit::At(1.0), set, set),
                facts(1.0, Some(100), Some(100)),
                Verdict::Reached(Reached::Ratio),
            ),
        ] {
            let effective = Effective::merge([&layer(Scope::Engine("e".to_owned()), limits)]);
            assert_eq!(judge(&effective, &facts), verdict, "{limits:?} {facts:?}");
        }
    }

    #[test]
    fn only_what_seeds_is_judged() {
        let of = |state, progress, force_started| Torrent {
            state,
            progress,
            force_started,
            ..torrent(1)
        };
        assert!(is_sharing(&of(TorrentState::Seeding, 1.0, None)));
        assert!(is_sharing(&of(TorrentState::Queued, 1.0, Some(false))));
        assert!(!is_sharing(&of(TorrentState::Seeding, 1.0, Some(true))));
        assert!(!is_sharing(&of(TorrentState::Queued, 0.99, None)));
        for state in TorrentState::ALL {
            let seeds = matches!(state, TorrentState::Seeding | TorrentState::Queued);
            assert_eq!(is_sharing(&of(*state, 1.0, None)), seeds, "{state:?}");
        }
    }

    fn any_limit<T: Copy + std::fmt::Debug + 'static>(
        values: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = Limit<T>> {
        prop_oneof![
            Just(Limit::Inherit),
            Just(Limit::Unlimited),
            values.prop_map(Limit::At)
        ]
    }

    fn any_limits() -> impl Strategy<Value = ShareLimits> {
        let action = prop_oneof![
            Just(ShareAction::Inherit),
            Just(ShareAction::Stop),
            Just(ShareAction::RemoveWithData)
        ];
        (
            any_limit(0.0..3.0f64),
            any_limit(0..99u64),
            any_limit(0..99u64),
            action,
        )
            .prop_map(|(ratio, seeding_time, inactive_time, action)| ShareLimits {
                ratio,
                seeding_time,
                inactive_time,
                action,
            })
    }

    proptest! {
        /// Time left, as the verdict says, is true: not reached before it, reached by then.
        #[test]
        fn the_time_left_is_exact(all in any_limits(), ratio in 0.0..3.0f64, seeded in 0..99u64, idle in 0..99u64) {
            let effective = Effective::merge([&layer(Scope::Engine("e".to_owned()), all)]);
            let later = |by: u64| Facts { ratio, seeded: Some(seeded + by), idle: Some(idle + by) };
            match judge(&effective, &later(0)) {
                Verdict::In(left) => {
                    prop_assert!(left > 0);
                    prop_assert_eq!(judge(&effective, &later(left - 1)), Verdict::In(1));
                    prop_assert!(matches!(judge(&effective, &later(left)), Verdict::Reached(_)));
                }
                Verdict::Open => prop_assert_eq!(judge(&effective, &later(1 << 40)), Verdict::Open),
                Verdict::Reached(_) => prop_assert!(matches!(judge(&effective, &later(1)), Verdict::Reached(_))),
            }
        }

        /// Facts that are unknown never reach a limit that known ones would not.
        #[test]
        fn unknown_facts_reach_nothing_by_themselves(all in any_limits(), ratio in 0.0..3.0f64) {
            let effective = Effective::merge([&layer(Scope::Engine("e".to_owned()), all)]);
            let unknown = judge(&effective, &Facts { ratio, seeded: None, idle: None });
            let by_ratio = matches!(all.ratio, Limit::At(limit) if ratio >= limit);
            prop_assert_eq!(unknown == Verdict::Reached(Reached::Ratio), by_ratio);
            prop_assert!(by_ratio || unknown == Verdict::Open);
        }

        /// A merge is that of the fields alone, and a layer that sets nothing changes nothing.
        #[test]
        fn an_empty_layer_changes_nothing(of_torrent in any_limits(), of_engine in any_limits()) {
            let [torrent, category, engine] = scopes();
            let (torrent, engine) = (layer(torrent, of_torrent), layer(engine, of_engine));
            let empty = layer(category, ShareLimits::default());
            let merged = Effective::merge([&torrent, &engine]);
            prop_assert_eq!(&merged, &Effective::merge([&torrent, &empty, &engine]));
            if of_torrent.ratio != Limit::Inherit {
                prop_assert_eq!(merged.ratio.unwrap().value, of_torrent.ratio);
            }
        }
    }
}
