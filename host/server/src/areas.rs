//! The areas of this build.
//!
//! Adding an area is a line in [`AREAS`]: each makes itself, after those whose ports it needs. Bounds: an area may take [`CLOSE`] to close.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Db;
use qm_kernel::event::EventSpec;
use qm_platform::area::{AreaError, AreaSpec, Closing, ContextAction, Loop, Module};
use qm_platform::notification::NotificationCatalogue;
use qm_platform::outbox::Consumer;
use qm_platform::{Audit, Background, Cipher, Ground, Ports, Sealed};
use qm_web::Routes;

/// Every area, in the order of the document. They end from the last to the first: files before the torrents whose data they
/// move.
pub const AREAS: &[&AreaSpec] = &[
    &qm_system::AREA,
    &qm_identity::AREA,
    &qm_torrents::AREA,
    &qm_files::AREA,
    &qm_jobs::AREA,
    &qm_automation::AREA,
    &qm_notifications::AREA,
    &qm_rss::AREA,
    &qm_mail::AREA,
    &qm_indexers::AREA,
    &qm_shows::AREA,
    &qm_titledb::AREA,
    &qm_library::AREA,
    &qm_media_servers::AREA,
    &qm_metadata::AREA,
    &qm_views::AREA,
    &qm_created_torrents::AREA,
    &qm_torrent_commands::AREA,
    &qm_limits::AREA,
    &qm_parking::AREA,
    &qm_transfer_history::AREA,
    &qm_client_preferences::AREA,
    &qm_rename::AREA,
    &qm_artwork::AREA,
    &qm_nfo::AREA,
    &qm_duplicates::AREA,
    &qm_show_folders::AREA,
];
/// Time for an area to give up its running work, or to store pending data.
const CLOSE: Duration = Duration::from_secs(10);

/// Every route, for the API document only: these cannot answer.
pub fn described() -> Routes {
    let described = AREAS.iter().map(|area| (area.described)());
    described.fold(Routes::new(), Routes::merge)
}

/// The kinds of events of every area.
pub fn events() -> impl Iterator<Item = &'static [EventSpec]> {
    AREAS.iter().map(|area| area.events)
}

/// Modules from which clients build their menu, in the order of the menu.
pub fn modules() -> Arc<[&'static Module]> {
    let mut modules: Vec<&Module> = AREAS.iter().flat_map(|area| area.modules).collect();
    modules.sort_by_key(|module| module.place);
    modules.into()
}

/// Actions that people may use on things, in the order of the areas.
pub fn context_actions() -> Arc<[&'static ContextAction]> {
    AREAS.iter().flat_map(|area| area.context_actions).collect()
}

/// Events that people can be told of, in the order in which clients list them.
pub fn notifications() -> NotificationCatalogue {
    NotificationCatalogue::new(AREAS.iter().flat_map(|area| area.notifications))
}

/// All encrypted values of the service, for the change of keys and for the health of the system.
pub fn sealed(db: &Db, cipher: &Cipher, audit: &Audit) -> Sealed {
    let values = AREAS.iter().flat_map(|area| (area.sealed)()).collect();
    Sealed::new(db.clone(), cipher.clone(), audit.clone(), values)
}

/// Areas in the order in which they are made: each after those it needs, else as they stand in [`AREAS`].
///
/// # Panics
/// When an area needs one that is not there, or one that needs it.
fn in_order() -> Vec<&'static AreaSpec> {
    let mut made: Vec<&AreaSpec> = Vec::new();
    while made.len() < AREAS.len() {
        let is_made = |name: &str| made.iter().any(|area| area.name == name);
        let next = AREAS
            .iter()
            .find(|area| !is_made(area.name) && area.after.iter().all(|need| is_made(need)));
        made.push(next.unwrap_or_else(|| {
            let left: Vec<_> = AREAS.iter().filter(|area| !is_made(area.name)).collect();
            panic!("areas need each other, or one that is not there: {left:?}")
        }));
    }
    made
}

/// Everything that the areas of a server give it.
pub struct Areas {
    /// Every route, ready to answer.
    pub routes: Routes,
    /// Consumers that must not miss an event.
    pub consumers: Vec<Arc<dyn Consumer>>,
    /// Loops to start, each with its entry in the list of background work.
    pub loops: Vec<(Loop, Background)>,
    pub endings: Endings,
}

/// Ends of the areas of a server: the name of each area that has something to do, and the object that does it, the last
/// first.
#[derive(Clone)]
pub struct Endings(Arc<[(&'static str, Arc<dyn Closing>)]>);

impl Areas {
    /// Makes every area.
    ///
    /// # Errors
    /// Whatever keeps one of them from being made.
    pub async fn make(ground: &Ground, ports: &mut Ports) -> Result<Self, AreaError> {
        let mut areas = Vec::new();
        for spec in in_order() {
            let ground = ground.for_area(spec);
            areas.push(spec.make.run(&ground, ports).await?);
        }
        areas.sort_by_key(|area| AREAS.iter().position(|spec| spec.name == area.spec.name));
        let (mut routes, mut consumers, mut loops) = (Routes::new(), Vec::new(), Vec::new());
        let mut endings = Vec::new();
        for area in areas {
            routes = routes.merge(area.routes);
            consumers.extend(area.consumers);
            let background = ground.background.for_module(area.spec.module);
            loops.extend(area.loops.into_iter().map(|start| (start, background.clone())));
            endings.extend(area.closing.map(|closing| (area.spec.name, closing)));
        }
        endings.reverse();
        Ok(Self {
            routes,
            consumers,
            loops,
            endings: Endings(endings.into()),
        })
    }
}

impl Endings {
    /// Ends the waits of requests.
    pub fn stop(&self) {
        for (_, ending) in self.0.iter() {
            ending.stop();
        }
    }

    /// Ends the work of areas after the last request, before the loops end.
    pub async fn settle(&self) {
        for (_, ending) in self.0.iter() {
            ending.settle().await;
        }
    }

    /// Ends the areas after the loops.
    pub async fn close(&self) {
        for (area, ending) in self.0.iter() {
            if tokio::time::timeout(CLOSE, ending.close()).await.is_err() {
                tracing::warn!(area, "an area took too long to close and was left");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use qm_kernel::Permission;
    use qm_platform::notification::Recipients;
    use qm_platform::settings;

    use super::*;

    #[test]
    fn each_area_is_made_after_those_it_needs() {
        let order: Vec<&str> = in_order().iter().map(|area| area.name).collect();
        for area in AREAS {
            let place = |name: &str| order.iter().position(|other| *other == name);
            for need in area.after {
                assert!(
                    place(need) < place(area.name),
                    "{} needs {need}: {order:?}",
                    area.name
                );
            }
        }
        assert_eq!(
            order.iter().collect::<BTreeSet<_>>().len(),
            AREAS.len(),
            "{order:?}"
        );
    }

    #[test]
    fn a_key_is_one_kind_of_event() {
        let keys: Vec<&str> = events().flatten().map(|spec| spec.key).collect();
        let distinct: BTreeSet<&str> = keys.iter().copied().collect();
        assert_eq!(distinct.len(), keys.len(), "{keys:?}");
    }

    /// A setting of no area would be in no area's tests.
    #[test]
    fn a_setting_has_one_key_and_one_area() {
        let areas: Vec<&str> = AREAS.iter().map(|area| area.name).chain(["platform"]).collect();
        let mut keys = BTreeSet::new();
        for declared in settings::DECLARED {
            let spec = (declared.spec)();
            assert!(
                spec.to_come || areas.contains(&spec.owner),
                "{}: no area {}",
                spec.key,
                spec.owner
            );
            assert!(keys.insert(spec.key), "{} twice", spec.key);
            assert!(
                spec.about.ends_with('.') && !(spec.secret && spec.seeded),
                "{}",
                spec.key
            );
            // A generic writer would store the secret members as they come.
            assert!(
                spec.secret_members.is_empty() || spec.route.is_some(),
                "{}",
                spec.key
            );
        }
        assert!(keys.len() > 20, "{keys:?}");
    }

    #[test]
    fn context_actions_are_told_apart_and_in_their_order() {
        let ids: Vec<&str> = context_actions().iter().map(|action| action.id).collect();
        let distinct: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!((distinct.len(), ids.len()), (34, 34), "{ids:?}");
        assert_eq!(
            (ids[0], ids[5], ids[6], ids[14]),
            (
                "torrents.resume",
                "torrents.removeData",
                "files.open",
                "jobs.cancel"
            )
        );
        for action in context_actions().iter() {
            assert!(
                ["none", "single", "multi", "any"].contains(&action.arity),
                "{}",
                action.id
            );
            assert!(
                !action.permissions.is_empty(),
                "{}: everybody may do it",
                action.id
            );
        }
    }

    /// Without an action of the catalogue a route that acts on what people have chosen has no button.
    #[test]
    fn what_is_done_to_a_selection_is_in_the_catalogue() {
        let actions = context_actions();
        let document: serde_json::Value =
            serde_json::from_str(&crate::api::document().expect("a document")).expect("it is JSON");
        let mut wrong = Vec::new();
        for (path, operations) in document["paths"].as_object().expect("paths") {
            let family = path.split('/').nth(2).unwrap_or_default();
            let on_a_selection = path.contains("/bulk") && !path.ends_with("preview");
            // What a person does to their own account needs no toolbar.
            if !on_a_selection || family == "account" || operations["post"].is_null() {
                continue;
            }
            let needed = operations["post"]["x-permissions"]
                .as_array()
                .expect("permissions");
            let of_family = actions
                .iter()
                .filter(|action| action.id.split('.').next() == Some(family));
            let held: BTreeSet<&str> = of_family
                .flat_map(|action| action.permissions)
                .map(|permission| permission.key())
                .collect();
            // One route for many actions tells its permissions by the body.
            let by_body = !operations["post"]["x-permissions-by-body"].is_null();
            let is_there = |key: &serde_json::Value| key.as_str().is_some_and(|key| held.contains(key));
            if held.is_empty() || !(by_body || needed.iter().all(is_there)) {
                wrong.push(path);
            }
        }
        assert!(wrong.is_empty(), "no context action: {wrong:?}");
    }

    /// The order and every word are the API's: `GET /api/account/notifications/events` answers them.
    #[test]
    fn the_catalogue_of_notifications_is_what_clients_know() {
        let shown: Vec<String> = notifications()
            .iter()
            .map(|spec| {
                let permission = spec.audience.permission.map_or("-", Permission::key);
                let recipients = spec.audience.recipients.as_str();
                let shown = if spec.default_in_app { "in-app" } else { "off" };
                let (category, severity) = (spec.category.as_str(), spec.severity.as_str());
                let builder = spec.builder.as_str();
                format!(
                    "{} {category} {severity} {shown} {recipients} {permission} {builder}",
                    spec.key
                )
            })
            .collect();
        let known = [
            "media_server.user_started_watching playback info off permission_holders media_server_analytics.view_live_activity playback",
            "media_server.user_stopped_watching playback info off permission_holders media_server_analytics.view_live_activity playback",
            "media_server.refresh_failed providers warning in-app permission_holders media_server_analytics.manage_connections provider",
            "torrent.completed downloads success in-app resource_owner torrents.view torrent",
            "torrent.failed downloads error in-app resource_owner torrents.view torrent",
            "torrent.limit_reached downloads info off resource_owner torrents.view torrent",
            "torrent.limit_failed downloads warning in-app resource_owner torrents.view torrent",
            "system.storage_warning storage warning in-app permission_holders system.view storage",
            "system.storage_critical storage error in-app permission_holders system.view storage",
            "system.storage_recovered storage success in-app permission_holders system.view storage",
            "provider.offline providers error in-app permission_holders system.view provider",
            "provider.recovered providers success in-app permission_holders system.view provider",
            "security.password_changed security warning in-app affected_user - security",
            "security.two_factor_disabled security warning in-app affected_user - security",
            "security.api_key_created security warning in-app affected_user - security",
            "security.login_failed security warning in-app affected_user - security",
            "user.created users info in-app permission_holders users.manage user",
            "user.role_changed users warning in-app permission_holders users.manage user",
            "automation.notice workflows info in-app affected_user - notice",
            "automation.rule_stopped workflows warning in-app permission_holders automation.manage notice",
        ];
        assert_eq!(shown, known);
    }

    #[test]
    fn a_notification_has_one_key_and_one_place_and_an_event_of_its_area() {
        let (mut keys, mut places) = (BTreeSet::new(), BTreeSet::new());
        // Two are still to come, and a notice of a rule is no event.
        let apart = [
            "media_server.user_started_watching",
            "media_server.user_stopped_watching",
            "automation.notice",
        ];
        for area in AREAS {
            for spec in area.notifications {
                assert!(keys.insert(spec.key), "{} twice", spec.key);
                assert!(places.insert(spec.place), "{}: another has its place", spec.key);
                let is_published = area.events.iter().any(|event| event.key == spec.key);
                assert_eq!(is_published, !apart.contains(&spec.key), "{}", spec.key);
                // An event without permission would have no holders to notify.
                let is_own = spec.audience.recipients == Recipients::AffectedUser;
                assert_eq!(spec.audience.permission.is_none(), is_own, "{}", spec.key);
            }
        }
    }

    #[test]
    fn each_module_stands_after_what_it_needs() {
        let modules = modules();
        for (at, module) in modules.iter().enumerate() {
            for need in module.needs {
                let earlier = modules[..at].iter().any(|earlier| earlier.id == *need);
                assert!(earlier, "{} needs {need}", module.id);
            }
            let twice = modules[..at].iter().any(|earlier| earlier.id == module.id);
            assert!(!twice, "{} twice", module.id);
        }
    }

    #[test]
    fn ids_of_modules_are_those_that_clients_know() {
        let ids: Vec<&str> = modules().iter().map(|module| module.id).collect();
        let known = [
            "dashboard",
            "users",
            "audit",
            "settings",
            "torrents",
            "files",
            "rss",
            "automation",
            "notifications",
            "media_manager",
        ];
        assert_eq!(ids, known);
    }

    #[test]
    fn every_family_has_permissions_and_every_permission_one_module() {
        for module in modules().iter() {
            for family in module.families {
                let any = module
                    .permissions()
                    .any(|permission| permission.key().starts_with(family));
                assert!(any, "{family} names no permission");
            }
        }
        for permission in Permission::ALL {
            let modules = modules();
            let owners = modules
                .iter()
                .filter(|module| module.permissions().any(|owned| owned == *permission));
            assert!(owners.count() <= 1, "{}", permission.key());
        }
    }
}
