//! The types of jobs as people see them, without what runs them.

use qm_kernel::Permission;

use super::job::Capabilities;

/// A type of jobs; the fields are those of [`JobType`](crate::JobType).
#[derive(Clone, Debug)]
pub struct Described {
    pub key: &'static str,
    pub module: &'static str,
    pub workspace: Option<&'static str>,
    pub label_key: &'static str,
    pub description_key: Option<&'static str>,
    pub required_permission: Option<Permission>,
    pub capabilities: Capabilities,
}
