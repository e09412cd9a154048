//! Plans that were shown, kept for whoever may apply them: what is applied is what was seen.
//!
//! Bounds: three plans of a user and 60,000 files of all together, the oldest go first; a quarter of an hour. They are lost
//! with the process, and then have to be made again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_lanes::IgnorePoison;

use crate::model::request::Prepared;

const MAX_OF_USER: usize = 3;
const MAX_FILES: usize = 60_000;
const KEPT: Duration = Duration::from_mins(15);

struct Kept {
    id: String,
    user: String,
    at: Instant,
    plan: Arc<Prepared>,
}

/// The plans, the oldest first.
#[derive(Default)]
pub struct KeptPlans(Mutex<VecDeque<Kept>>);

impl KeptPlans {
    /// Keeps a plan; one that is too large alone is not kept.
    pub fn keep(&self, id: String, user: &str, plan: Arc<Prepared>) {
        if plan.len() > MAX_FILES {
            return;
        }
        let mut all = self.0.lock().ignore_poison();
        all.retain(|kept| kept.at.elapsed() < KEPT);
        let mut of_user = all.iter().filter(|kept| kept.user == user).count();
        all.retain(|kept| {
            let goes = kept.user == user && of_user >= MAX_OF_USER;
            of_user -= usize::from(goes);
            !goes
        });
        all.push_back(Kept {
            id,
            user: user.to_owned(),
            at: Instant::now(),
            plan,
        });
        let mut files: usize = all.iter().map(|kept| kept.plan.len()).sum();
        while files > MAX_FILES {
            let Some(oldest) = all.pop_front() else { break };
            files -= oldest.plan.len();
        }
    }

    /// A plan of a user.
    pub fn find(&self, id: &str, user: &str) -> Option<Arc<Prepared>> {
        let mut all = self.0.lock().ignore_poison();
        all.retain(|kept| kept.at.elapsed() < KEPT);
        let found = all.iter().find(|kept| kept.id == id && kept.user == user);
        found.map(|kept| kept.plan.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_bounded_and_private() {
        let plans = KeptPlans::default();
        for number in 0..5 {
            plans.keep(number.to_string(), "a", Arc::new(Prepared::of_length(10)));
        }
        assert!(plans.find("1", "a").is_none() && plans.find("2", "a").is_some());
        assert!(plans.find("2", "b").is_none());
        plans.keep(
            "large".to_owned(),
            "b",
            Arc::new(Prepared::of_length(MAX_FILES - 15)),
        );
        assert!(plans.find("3", "a").is_none() && plans.find("4", "a").is_some());
        plans.keep(
            "huge".to_owned(),
            "b",
            Arc::new(Prepared::of_length(MAX_FILES + 1)),
        );
        assert!(plans.find("huge", "b").is_none() && plans.find("large", "b").is_some());
    }
}
