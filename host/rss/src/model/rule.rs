//! Rules, without their candidates.

use std::str::FromStr;

use qm_kernel::{Permission, Timestamp};

/// Largest number of characters of a rule's name.
pub const MAX_NAME: usize = 200;
/// Largest number of rules.
pub const MAX_RULES: u64 = 5000;
/// Permission to store a rule on a show that has ended.
pub const TO_INSIST: Permission = Permission::RssShowStatusOverride;
/// Field of a rule that insists on a show that has ended.
pub const INSISTS: &str = "allowInactiveShowMonitoring";
/// Provider of a show where the rule names none.
const DEFAULT_PROVIDER: &str = "provider_a";
/// Media types of shows, which have an airing status.
const TV_SHAPED: [&str; 4] = ["tv", "anime", "episode", "series"];

/// Destination of grabbed torrents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// The torrent is saved in the rule's path and stays there.
    LegacyDirect,
    /// The media area imports the torrent into a library.
    ManagedIntake,
}

impl ImportMode {
    pub const WORDS: [&str; 2] = ["legacy_direct", "managed_intake"];

    pub const fn as_str(self) -> &'static str {
        match self {
            ImportMode::LegacyDirect => "legacy_direct",
            ImportMode::ManagedIntake => "managed_intake",
        }
    }
}

impl FromStr for ImportMode {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match word {
            "legacy_direct" => Ok(ImportMode::LegacyDirect),
            "managed_intake" => Ok(ImportMode::ManagedIntake),
            _ => Err(()),
        }
    }
}

/// Airing status of the rule's show at the last lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShowSnapshot {
    pub status: Option<String>,
    pub provider: Option<String>,
    pub provider_id: Option<String>,
    pub checked_at: Option<Timestamp>,
    pub recommendation: Option<String>,
    /// `YYYY-MM-DD`, like the next two fields.
    pub first_air_date: Option<String>,
    pub last_air_date: Option<String>,
    pub next_episode_air_date: Option<String>,
    pub warnings: Vec<String>,
}

impl From<&qm_ports::shows::ShowSnapshot> for ShowSnapshot {
    fn from(show: &qm_ports::shows::ShowSnapshot) -> Self {
        Self {
            status: Some(show.status.as_str().to_owned()),
            provider: Some(show.provider.clone()),
            provider_id: Some(show.provider_show_id.clone()),
            checked_at: Some(show.checked_at),
            recommendation: Some(show.recommendation.as_str().to_owned()),
            first_air_date: show.first_air_date.clone(),
            last_air_date: show.last_air_date.clone(),
            next_episode_air_date: show.next_episode_air_date.clone(),
            warnings: show.warnings.clone(),
        }
    }
}

/// Origin of a generated rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub is_generated: bool,
    pub discovery_template_id: Option<String>,
    pub acquisition_template_id: Option<String>,
    pub acquisition_template_version: Option<i64>,
    pub discovered_media_id: Option<String>,
    /// Time of the first change by a user.
    pub user_modified_at: Option<Timestamp>,
}

/// Selection of items from feeds, for download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: String,
    pub feed_id: String,
    pub name: String,
    pub include_regex: Option<String>,
    pub exclude_regex: Option<String>,
    pub category_id: Option<String>,
    pub save_path: Option<String>,
    pub auto_download: bool,
    pub is_enabled: bool,
    pub import_mode: ImportMode,
    pub storage_profile_id: Option<String>,
    pub pre_migration_save_path: Option<String>,
    pub media_type: Option<String>,
    pub show: ShowSnapshot,
    pub allow_inactive_show_monitoring: bool,
    pub origin: Origin,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Rule {
    /// A new rule with a name and no conditions.
    pub fn new(id: String, feed_id: String, name: String, now: Timestamp) -> Self {
        Self {
            id,
            feed_id,
            name,
            include_regex: None,
            exclude_regex: None,
            category_id: None,
            save_path: None,
            auto_download: true,
            is_enabled: true,
            import_mode: ImportMode::ManagedIntake,
            storage_profile_id: None,
            pre_migration_save_path: None,
            media_type: None,
            show: ShowSnapshot::default(),
            allow_inactive_show_monitoring: false,
            origin: Origin::default(),
            created_at: now,
            updated_at: now,
        }
    }

    pub fn is_of_show(&self) -> bool {
        self.media_type.as_deref().is_some_and(is_tv_shaped)
    }

    /// Provider and id of the rule's show.
    pub fn named_show(&self) -> Option<(String, String)> {
        fn non_blank(text: Option<&str>) -> Option<&str> {
            text.map(str::trim).filter(|text| !text.is_empty())
        }
        let id = non_blank(self.show.provider_id.as_deref()).filter(|_| self.is_of_show())?;
        let provider = non_blank(self.show.provider.as_deref()).unwrap_or(DEFAULT_PROVIDER);
        Some((provider.to_owned(), id.to_owned()))
    }

    /// Applies a change; absent fields stay. The airing status is not looked up here.
    pub fn apply(&mut self, change: RuleChange) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        let concerns_show = change.concerns_show();
        set(&mut self.name, change.name);
        set(&mut self.include_regex, change.include_regex);
        set(&mut self.exclude_regex, change.exclude_regex);
        set(&mut self.save_path, change.save_path);
        set(&mut self.auto_download, change.auto_download);
        set(&mut self.is_enabled, change.is_enabled);
        set(&mut self.import_mode, change.import_mode);
        set(&mut self.storage_profile_id, change.storage_profile_id);
        if concerns_show {
            set(&mut self.media_type, change.media_type);
            set(&mut self.show.provider, change.show_status_provider);
            set(&mut self.show.provider_id, change.show_status_provider_id);
            // The stored status belongs to another show, or the rule has none any more.
            let named = self.named_show();
            self.show = ShowSnapshot::default();
            if let Some((provider, id)) = named {
                self.show.provider = Some(provider);
                self.show.provider_id = Some(id);
            }
        }
        set(
            &mut self.allow_inactive_show_monitoring,
            change.allow_inactive_show_monitoring,
        );
    }

    /// Records a change by a user, so that the generator leaves the rule alone from now on.
    pub fn touched_by_person(&mut self, now: Timestamp) {
        if self.origin.is_generated && self.origin.user_modified_at.is_none() {
            self.origin.user_modified_at = Some(now);
        }
        self.updated_at = now;
    }
}

pub fn is_tv_shaped(media_type: &str) -> bool {
    TV_SHAPED.contains(&media_type.trim().to_ascii_lowercase().as_str())
}

/// Changes of a rule; an inner `None` clears a field.
#[derive(Clone, Debug, Default)]
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
pub struct RuleChange {
    pub name: Option<String>,
    pub include_regex: Option<Option<String>>,
    pub exclude_regex: Option<Option<String>>,
    pub save_path: Option<Option<String>>,
    pub auto_download: Option<bool>,
    pub is_enabled: Option<bool>,
    pub import_mode: Option<ImportMode>,
    pub storage_profile_id: Option<Option<String>>,
    pub media_type: Option<Option<String>>,
    pub show_status_provider: Option<Option<String>>,
    pub show_status_provider_id: Option<Option<String>>,
    pub allow_inactive_show_monitoring: Option<bool>,
}

impl RuleChange {
    /// True when the change concerns the show, so that its airing status must be checked.
    pub fn concerns_show(&self) -> bool {
        self.media_type.is_some() || self.show_status_provider_id.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_are_told_by_the_media_type() {
        for (word, tv) in [
            ("tv", true),
            (" Anime", true),
            ("series", true),
            ("movie", false),
            ("", false),
        ] {
            assert_eq!(is_tv_shaped(word), tv, "{word}");
        }
    }

    #[test]
    fn the_first_change_by_a_person_is_remembered() {
        let at = Timestamp::from_ms;
        let mut rule = Rule::new("r".into(), "f".into(), "n".into(), at(0));
        rule.touched_by_person(at(1));
        assert_eq!(rule.origin.user_modified_at, None, "nobody generated it");
        rule.origin.is_generated = true;
        rule.touched_by_person(at(2));
        rule.touched_by_person(at(3));
        assert_eq!(rule.origin.user_modified_at, Some(at(2)));
    }
}
