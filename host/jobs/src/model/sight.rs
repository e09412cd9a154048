//! Which jobs a caller may see. Pure; the same rule stands in the statements of `repo::lists`.

use qm_kernel::{Permission, Principal};

use super::job::{Job, Visibility};

/// What a caller sees of the jobs.
#[derive(Clone, Debug)]
pub struct Sight {
    /// Every job.
    pub all: bool,
    pub user_id: String,
    /// Keys of the permissions they hold, each between two commas.
    pub held: String,
}

impl Sight {
    pub fn of(principal: &Principal) -> Self {
        let keys = Permission::ALL
            .iter()
            .filter(|permission| principal.may(**permission))
            .map(|permission| permission.key());
        let mut held = String::from(",");
        for key in keys {
            // A comma of its own at each end, so that taking one out leaves those beside it whole.
            held.push_str(key);
            held.push_str(",,");
        }
        Self {
            all: sees_all(principal),
            user_id: principal.user_id.to_string(),
            held,
        }
    }

    pub fn shows(&self, job: &Job) -> bool {
        let holds = |key: &str| self.held.contains(&format!(",{key},"));
        self.all
            || job.visibility == Visibility::Public
            || job.created_by_id.as_deref() == Some(&self.user_id)
            || (job.visibility == Visibility::Module && job.required_permission.as_deref().is_none_or(holds))
    }
}

/// The permissions of which each shows every job.
pub const SEE_ALL: &[Permission] = &[Permission::JobsViewAll, Permission::JobsAdmin];

/// Whether the caller sees every job.
pub fn sees_all(principal: &Principal) -> bool {
    SEE_ALL.iter().any(|permission| principal.may(*permission))
}
