//! Audiences: allowed recipients of each event, declared once for all areas. An undeclared event, or one sent
//! to another room than declared, is sent to nobody.

use qm_kernel::Permission;

use super::Room;

/// Allowed recipients of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The user that the event is about.
    Person,
    /// Holders of the permission that reads the same data over HTTP.
    Holders(Permission),
    /// Users who may see the job; the job determines them.
    OfJob,
    /// Any room; only for tests of the channel.
    Any,
}

/// Audiences by prefix of an event's name; the longest matching prefix counts.
pub type Audiences = &'static [(&'static str, Audience)];

/// The events of this build.
pub const AUDIENCES: Audiences = &[
    ("account.notification.", Audience::Person),
    ("torrents:", Audience::Holders(Permission::TorrentsView)),
    ("torrents.parking.", Audience::Holders(Permission::TorrentsView)),
    ("stats:", Audience::Holders(Permission::TorrentsView)),
    ("engine:", Audience::Holders(Permission::TorrentsView)),
    ("download.", Audience::Holders(Permission::TorrentsView)),
    ("files.", Audience::Holders(Permission::FilesView)),
    ("rss.", Audience::Holders(Permission::RssView)),
    ("jobs.", Audience::OfJob),
    ("media_manager.job.", Audience::OfJob),
    (
        "media_manager.duplicates.",
        Audience::Holders(Permission::MediaManagerView),
    ),
    ("titledb.", Audience::Holders(Permission::MediaManagerTitledbView)),
];

impl Audience {
    fn allows(self, room: &Room) -> bool {
        match (self, room) {
            (Audience::Any, _) | (Audience::Person, Room::User(_)) => true,
            (Audience::Holders(declared), Room::Perm(permission)) => declared == *permission,
            (Audience::OfJob, room) => !matches!(room, Room::User(_)),
            (Audience::Person | Audience::Holders(_), _) => false,
        }
    }
}

/// The audience of an event; `None` for an undeclared one.
fn audience_of(audiences: Audiences, event: &str) -> Option<Audience> {
    let fitting = audiences.iter().filter(|(start, _)| event.starts_with(start));
    fitting
        .max_by_key(|(start, _)| start.len())
        .map(|(_, audience)| *audience)
}

/// True if an event may go to a room. A refusal is a bug; it is logged and nothing is sent.
pub(super) fn admits(audiences: Audiences, event: &str, room: &Room) -> bool {
    let is_declared = audience_of(audiences, event).is_some_and(|audience| audience.allows(room));
    if !is_declared {
        tracing::error!(
            event,
            ?room,
            "a realtime event goes to no audience that is declared for it"
        );
        debug_assert!(is_declared, "{event} is not declared for {room:?}");
    }
    is_declared
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../docs/realtime.md");

    /// Events in the documentation.
    fn described() -> impl Iterator<Item = &'static str> {
        let headings = DOCUMENT.lines().filter_map(|line| line.strip_prefix("### `"));
        // Messages to a single socket go to no room.
        headings
            .filter_map(|rest| rest.strip_suffix('`'))
            .filter(|event| !event.starts_with("auth:"))
    }

    #[test]
    fn every_event_of_the_document_has_the_audience_that_it_names() {
        assert!(described().count() > 30);
        for event in described() {
            let audience = audience_of(AUDIENCES, event).unwrap_or_else(|| panic!("{event} has no audience"));
            let mut rows = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
            let named = rows.find(|row| {
                let first = row.split('|').nth(1).unwrap_or_default();
                let mut names = first.split('`').skip(1).step_by(2);
                names.any(|name| {
                    name == event
                        || name
                            .strip_suffix('…')
                            .is_some_and(|start| event.starts_with(start))
                })
            });
            let named = named.unwrap_or_else(|| panic!("{event} stands in no row of who gets what"));
            if let Audience::Holders(permission) = audience {
                let key = format!("`{}`", permission.key());
                assert!(named.contains(&key), "{event}: {named}");
                let verb = permission.key().rsplit('.').next();
                assert_eq!(verb, Some("view"), "{event}: what reads nothing");
            }
        }
    }

    #[test]
    fn no_audience_is_declared_for_nothing() {
        for (start, _) in AUDIENCES {
            assert!(described().any(|event| event.starts_with(start)), "{start}");
        }
    }

    #[test]
    fn an_event_goes_to_its_own_room_alone() {
        let perm = |permission| Room::Perm(permission);
        let view = perm(Permission::MediaManagerTitledbView);
        let is =
            |event, room: &Room| audience_of(AUDIENCES, event).is_some_and(|audience| audience.allows(room));
        assert!(is("titledb.match.completed", &view));
        assert!(!is(
            "titledb.match.completed",
            &perm(Permission::MediaManagerView)
        ));
        assert!(!is("titledb.match.completed", &Room::Authenticated));
        assert!(is("account.notification.created", &Room::User("u".into())));
        assert!(!is("account.notification.created", &Room::Authenticated));
        assert!(is("jobs.created", &Room::Authenticated) && is("media_manager.job.started", &view));
        assert!(!is("nobody.declared.it", &view), "nor is it in any room");
    }
}
