//! Catalogue of triggers. A rule may name any trigger; an unknown one never fires.

use qm_ports::action::Occasion;

/// A trigger of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub id: &'static str,
    pub label: &'static str,
    pub category: &'static str,
}

pub const COMPLETED: &str = "torrent.completed";
pub const RATIO: &str = "ratio.reached";
pub const FAILED: &str = "torrent.failed";
pub const ADDED: &str = "torrent.added";
/// The torrent is gone when it fires, so its runs are those of an event.
pub const REMOVED: &str = "torrent.removed";
/// Runs after the rule's number of hours without data.
pub const STALLED: &str = "torrent.stalled";
/// Runs by the rule's own time table.
pub const SCHEDULE: &str = "schedule";

/// The catalogue, in its order.
pub const ALL: &[Trigger] = &[
    trigger(COMPLETED, "Download completes", "torrent"),
    trigger(RATIO, "Share ratio reached", "torrent"),
    trigger("media.detected", "Media file found by a scan", "media"),
    trigger("media.matched", "Media identified", "media"),
    trigger("media.unmatched", "Media not identified", "media"),
    trigger("media.missing_artwork", "Artwork missing", "media"),
    trigger("media.missing_subtitles", "Preferred subtitles missing", "media"),
    trigger("media.rename_completed", "Media renamed or moved", "media"),
    trigger(
        "media.server_refresh_failed",
        "Media server refresh failed",
        "media",
    ),
    trigger(
        "rss.rule.created_for_inactive_show",
        "RSS rule made for an inactive show",
        "rss",
    ),
    trigger(
        "rss.show_status.changed",
        "Airing status of a show changed",
        "rss",
    ),
    trigger("rss.show.became_active", "Show active again", "rss"),
    trigger("rss.show.ended", "Show ended", "rss"),
    trigger("rss.show.canceled", "Show canceled", "rss"),
    trigger(FAILED, "Torrent fails", "torrent"),
    trigger(SCHEDULE, "Time table", "time"),
    trigger("storage.low", "Disk space is low", "system"),
    trigger(ADDED, "Torrent is added", "torrent"),
    trigger(REMOVED, "Torrent is removed", "torrent"),
    trigger(STALLED, "Torrent gets no data", "torrent"),
];

const fn trigger(id: &'static str, label: &'static str, category: &'static str) -> Trigger {
    Trigger { id, label, category }
}

impl Trigger {
    pub fn find(id: &str) -> Option<Self> {
        ALL.iter().copied().find(|trigger| trigger.id == id)
    }
}

/// Kind of a run's context, which decides about the possible actions.
pub fn occasion_of_run(trigger: &str, has_torrent: bool) -> Occasion {
    match trigger {
        SCHEDULE if has_torrent => Occasion::Torrent,
        _ => occasion(trigger),
    }
}

/// Kind of the trigger's context. An unknown trigger counts as an event, and so does a time table, unless its rule
/// concerns torrents.
pub fn occasion(trigger: &str) -> Occasion {
    match Trigger::find(trigger).map(|trigger| trigger.category) {
        Some("torrent") if trigger == REMOVED => Occasion::Event,
        Some("torrent") => Occasion::Torrent,
        Some("media") => Occasion::Media,
        _ => Occasion::Event,
    }
}
