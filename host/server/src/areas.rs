//! The areas of this build: one list of what they are, and one of what is started of them.
//!
//! Adding an area is a line in [`AREAS`], and the lines of [`App::build`](crate::app::App::build) that make it from those it
//! uses. Bounds: an area may take [`CLOSE`] to close.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Db;
use qm_kernel::event::EventSpec;
use qm_platform::area::{Area, AreaSpec, Closing, Module};
use qm_platform::outbox::Consumer;
use qm_platform::{Audit, Background, Cipher, Sealed};
use qm_web::Routes;

/// Every area, in the order of the document. They end from the last to the first: files before the torrents whose data they
/// move.
pub const AREAS: &[&AreaSpec] = &[
    &qm_system::AREA,
    &qm_identity::AREA,
    &qm_torrents::AREA,
    &qm_files::AREA,
    &qm_jobs::AREA,
];
/// Time for an area to give up what it has begun, or to store what it had not stored yet.
const CLOSE: Duration = Duration::from_secs(10);

/// Every route, for a document: they cannot answer.
pub fn described() -> Routes {
    merged(AREAS.iter().map(|area| (area.described)()))
}

/// The kinds of events of every area.
pub fn events() -> impl Iterator<Item = &'static [EventSpec]> {
    AREAS.iter().map(|area| area.events)
}

/// What clients draw their menu from, in the order they draw it.
pub fn modules() -> Arc<[&'static Module]> {
    let mut modules: Vec<&Module> = AREAS.iter().flat_map(|area| area.modules).collect();
    modules.sort_by_key(|module| module.place);
    modules.into()
}

/// All encrypted values of the service, for the change of keys and for the health of the system.
pub fn sealed(db: &Db, cipher: &Cipher, audit: &Audit) -> Sealed {
    let values = AREAS.iter().flat_map(|area| (area.sealed)()).collect();
    Sealed::new(db.clone(), cipher.clone(), audit.clone(), values)
}

/// The areas of a server that is being started.
pub struct Areas(Vec<Area>);

/// How the areas of a server end: the name of each that has something to do, and who does it, the last first.
#[derive(Clone)]
pub struct Endings(Arc<[(&'static str, Arc<dyn Closing>)]>);

impl Areas {
    /// # Panics
    /// When an area is missing or twice: each of [`AREAS`] is made once, in their order.
    pub fn new(areas: Vec<Area>) -> Self {
        let made: Vec<&str> = areas.iter().map(Area::name).collect();
        let known: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
        assert_eq!(made, known, "every area is made, and no other one");
        Self(areas)
    }

    /// Every route, ready to answer; once.
    pub fn take_routes(&mut self) -> Routes {
        merged(self.0.iter_mut().map(Area::take_routes))
    }

    /// Everybody who must not miss an event; once.
    pub fn take_consumers(&mut self) -> Vec<Arc<dyn Consumer>> {
        self.0.iter_mut().flat_map(Area::take_consumers).collect()
    }

    /// Starts the loops of every area.
    pub fn start(self, background: &Background) -> Endings {
        let ending = |area: Area| Some((area.name(), area.start(background)?));
        let mut endings: Vec<_> = self.0.into_iter().filter_map(ending).collect();
        endings.reverse();
        Endings(endings.into())
    }
}

impl Endings {
    /// Lets requests wait for nothing any more.
    pub fn stop(&self) {
        for (_, ending) in self.0.iter() {
            ending.stop();
        }
    }

    /// After the last request, before the loops end.
    pub async fn settle(&self) {
        for (_, ending) in self.0.iter() {
            ending.settle().await;
        }
    }

    /// After the loops.
    pub async fn close(&self) {
        for (area, ending) in self.0.iter() {
            if tokio::time::timeout(CLOSE, ending.close()).await.is_err() {
                tracing::warn!(area, "an area took too long to close and was left");
            }
        }
    }
}

fn merged(routes: impl Iterator<Item = Routes>) -> Routes {
    routes.fold(Routes::new(), Routes::merge)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use qm_kernel::Permission;
    use qm_platform::settings;

    use super::*;

    #[test]
    fn a_key_is_one_kind_of_event() {
        let keys: Vec<&str> = events().flatten().map(|spec| spec.key).collect();
        let distinct: BTreeSet<&str> = keys.iter().copied().collect();
        assert_eq!(distinct.len(), keys.len(), "{keys:?}");
    }

    /// What none of them owns would be in no area's tests.
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
        let known = ["dashboard", "users", "audit", "settings", "torrents", "files"];
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
