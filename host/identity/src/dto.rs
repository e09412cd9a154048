//! Request and answer bodies of the identity routes.

pub mod account;
pub mod api_keys;
pub mod auth;
pub mod users;

use qm_web::{Fields, is_printable};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::Change;

const MAX_DISPLAY_NAME: usize = 120;

/// The answer of an action that has nothing to show.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountDone)]
pub struct Done {
    #[schema(example = true)]
    pub success: bool,
}

impl Done {
    pub const YES: Done = Done { success: true };
}

/// Id of the changed or deleted object.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountId)]
pub struct IdView {
    /// UUID.
    pub id: String,
}

/// `displayName` of a partial change: `null` and blank texts clear it.
fn display_name_change(f: &mut Fields<'_>, name: &'static str) -> Change<String> {
    if f.is_null(name) {
        // Asked for all the same, so that the property counts as known.
        let _ = display_name(f, name);
        return Change::Clear;
    }
    match display_name(f, name) {
        None => Change::Keep,
        Some(blank) if blank.trim().is_empty() => Change::Clear,
        Some(shown) => Change::Set(shown),
    }
}

fn display_name(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    f.string(name)
        .max(MAX_DISPLAY_NAME)
        .check(is_printable, "must not contain control characters")
        .optional()
}
