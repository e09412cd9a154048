//! Table of settings in `docs/settings.md`.

use std::fmt::Write as _;

use super::declare;
use super::spec::SettingSpec;

/// A Markdown table of every setting that this version reads.
pub fn settings_table() -> String {
    let mut table = String::from(
        "| key | type | default | area | what it does | changed by |\n|---|---|---|---|---|---|\n",
    );
    for spec in declare::all().into_iter().filter(|spec| !spec.to_come) {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} | {} |",
            spec.key,
            spec.kind,
            default(&spec),
            spec.owner,
            about(&spec),
            spec.route
                .map_or_else(|| "any writer".to_owned(), |route| format!("`{route}` only")),
        );
    }
    table
}

fn default(spec: &SettingSpec) -> String {
    if spec.default.is_null() {
        "none".to_owned()
    } else {
        format!("`{}`", spec.default)
    }
}

fn about(spec: &SettingSpec) -> String {
    let mut about = spec.about.to_owned();
    if !spec.secret_members.is_empty() {
        let _ = write!(about, " Secret: `{}`.", spec.secret_members.join("`, `"));
    }
    about
}
