//! Migrations that are built into the program. A crate of their own, so that a new one compiles this crate and the server, not
//! every crate that uses the database.

use qm_db::Migration;

/// Migrations of the folder `migrations`, in order (`build.rs` finds them). Never edited once released: their tables are in
/// people's databases.
pub const ALL: &[Migration] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));
