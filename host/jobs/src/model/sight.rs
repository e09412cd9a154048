//! Rule for the jobs that a caller may see. Pure; the same rule stands in the SQL of `repo::lists`.

use qm_kernel::{Permission, Principal};

use super::job::{Job, Visibility};

/// Visibility filter of one caller.
#[derive(Clone, Debug)]
pub struct Sight {
    /// True when the caller may see every job.
    pub all: bool,
    pub user_id: String,
    /// Keys of the permissions that the caller holds, each between two commas.
    pub held: String,
}

impl Sight {
    pub fn from_principal(principal: &Principal) -> Self {
        let keys = Permission::ALL
            .iter()
            .filter(|permission| principal.has_permission(**permission))
            .map(|permission| permission.key());
        let mut held = String::from(",");
        for key in keys {
            // Each key has a comma at both ends, so that removing one leaves its neighbours whole.
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

/// Permissions each of which shows every job.
pub const SEE_ALL: &[Permission] = &[Permission::JobsViewAll, Permission::JobsAdmin];

/// True when the caller may see every job.
pub fn sees_all(principal: &Principal) -> bool {
    SEE_ALL
        .iter()
        .any(|permission| principal.has_permission(*permission))
}
