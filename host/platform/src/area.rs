//! Interface between an area and the server.
//!
//! The fixed properties of an area are a constant of its crate, an [`AreaSpec`], and need no started area: the API document,
//! the change of encryption keys and the menu of clients are made from the list of all specs. An area makes itself
//! ([`Make`]) from the [`Ground`] and from the [`Ports`] that areas before it offered. A started area is an [`Area`]: the
//! server merges its routes, runs its loops, hands its consumers to the outbox, and closes it in three steps ([`Closing`]).
//! Settings and statements are listed where they are declared ([`settings!`](macro@crate::settings), `sql!`); an area
//! registers its metrics when it is made.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_db::DbError;
use qm_kernel::Permission;
use qm_kernel::event::EventSpec;
use qm_web::Routes;
use tokio_util::sync::CancellationToken;

use crate::background::Background;
use crate::ground::Ground;
use crate::notification::NotificationSpec;
use crate::outbox::Consumer;
use crate::ports::{PortMissing, Ports};
use crate::sealed::SealedValues;

/// Fixed properties of an area.
#[derive(Debug)]
pub struct AreaSpec {
    /// Name, e.g. `torrents`; owner of its settings.
    pub name: &'static str,
    /// Kinds of events it publishes.
    pub events: &'static [EventSpec],
    /// Encrypted values that it stores.
    pub sealed: fn() -> Vec<Arc<dyn SealedValues>>,
    /// Module that its background loops are listed under; `system` for one without pages of its own.
    pub module: &'static str,
    /// Modules for the menu of clients.
    pub modules: &'static [Module],
    /// Actions on its objects, for toolbars.
    pub context_actions: &'static [ContextAction],
    /// Events that people can be told of.
    pub notifications: &'static [NotificationSpec],
    /// Its routes without state, for the API document only.
    pub described: fn() -> Routes,
    /// Names of the areas whose ports it needs: they are made before it.
    pub after: &'static [&'static str],
    pub make: Make,
}

/// Function that makes an area: it asks for the ports it needs, offers its own, and registers its metrics and types of jobs.
/// No loop runs before all areas are made.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    Plain(fn(&Ground, &mut Ports) -> Result<Area, AreaError>),
    /// For an area that reads the database first.
    Async(for<'a> fn(&'a Ground, &'a mut Ports) -> BoxFuture<'a, Result<Area, AreaError>>),
}

impl Make {
    /// # Errors
    /// Whatever keeps the area from being made.
    pub async fn run(self, ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
        match self {
            Self::Plain(make) => make(ground, ports),
            Self::Async(make) => make(ground, ports).await,
        }
    }
}

/// Reasons why an area was not made.
#[derive(Debug, thiserror::Error)]
pub enum AreaError {
    #[error("{doing}")]
    Failed {
        /// The step that failed, e.g. `cannot load the configured engines`.
        doing: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot set up the metrics")]
    Metrics(#[from] prometheus::Error),
    #[error(transparent)]
    Database(#[from] DbError),
    #[error(transparent)]
    Port(#[from] PortMissing),
}

impl AreaError {
    /// Error of a step, for `map_err`: `cannot load the configured engines`, say.
    pub fn describe<E: std::error::Error + Send + Sync + 'static>(
        doing: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Failed {
            doing,
            source: Box::new(source),
        }
    }
}

/// Action on selected objects, or on none, from which clients build toolbars. It is no access control: the
/// route is.
#[derive(Debug)]
pub struct ContextAction {
    /// e.g. `torrents.pause`
    pub id: &'static str,
    /// The group of the toolbar.
    pub group: &'static str,
    /// Kind of the selected objects; `None` for an action without a selection.
    pub entity: Option<&'static str>,
    /// `none`, `single`, `multi` or `any`.
    pub arity: &'static str,
    /// Permissions, all of which are needed.
    pub permissions: &'static [Permission],
    pub destructive: bool,
    /// For views of the running of things only.
    pub operations_only: bool,
    /// Capability that the object needs, e.g. `pause`.
    pub capability: Option<&'static str>,
    /// True to show the action disabled where it is not possible, instead of hiding it.
    pub shown_disabled: bool,
    /// True when it continues as a job after the answer.
    pub goes_on: bool,
    /// Things at once.
    pub max_selection: Option<u32>,
    pub icon: &'static str,
    /// Lowest first within its group.
    pub order: u16,
}

impl ContextAction {
    /// An action on any number of objects, without further properties.
    pub const fn new(
        id: &'static str,
        (group, entity): (&'static str, &'static str),
        permissions: &'static [Permission],
        (icon, order): (&'static str, u16),
    ) -> Self {
        Self {
            id,
            group,
            entity: Some(entity),
            arity: "any",
            permissions,
            destructive: false,
            operations_only: false,
            capability: None,
            shown_disabled: false,
            goes_on: false,
            max_selection: None,
            icon,
            order,
        }
    }

    pub const fn arity(self, arity: &'static str) -> Self {
        Self { arity, ..self }
    }

    pub const fn destructive(self) -> Self {
        Self {
            destructive: true,
            ..self
        }
    }

    pub const fn operations_only(self) -> Self {
        Self {
            operations_only: true,
            ..self
        }
    }

    pub const fn capability(self, capability: &'static str) -> Self {
        Self {
            capability: Some(capability),
            ..self
        }
    }

    pub const fn shown_disabled(self) -> Self {
        Self {
            shown_disabled: true,
            ..self
        }
    }

    pub const fn goes_on(self) -> Self {
        Self {
            goes_on: true,
            ..self
        }
    }

    /// An action without a selection.
    pub const fn about_nothing(self) -> Self {
        Self {
            entity: None,
            arity: "none",
            ..self
        }
    }

    pub const fn at_most(self, things: u32) -> Self {
        Self {
            max_selection: Some(things),
            ..self
        }
    }
}

/// A part of the service, from which clients build their menu. All modules are always on.
#[derive(Debug)]
pub struct Module {
    /// Id that clients know.
    pub id: &'static str,
    /// Sort position among all modules, lowest first; after the modules it needs.
    pub place: u16,
    pub name: &'static str,
    pub about: &'static str,
    /// Ids of the modules it builds on.
    pub needs: &'static [&'static str],
    /// Prefixes of its permissions, including the dot.
    pub families: &'static [&'static str],
    pub menu: &'static [MenuEntry],
    /// Features, one word each.
    pub features: &'static [&'static str],
}

/// A page of the clients.
#[derive(Clone, Copy, Debug)]
pub struct MenuEntry {
    pub label: &'static str,
    /// Name of its icon in the icon set `lucide`, e.g. `Folder`.
    pub icon: &'static str,
    /// Path of the page in clients.
    pub path: &'static str,
    /// Permission to see the page.
    pub permission: Permission,
}

impl Module {
    /// Its permissions, in the order of all permissions.
    pub fn permissions(&self) -> impl Iterator<Item = Permission> {
        Permission::ALL.iter().copied().filter(|permission| {
            self.families
                .iter()
                .any(|family| permission.key().starts_with(family))
        })
    }
}

/// Shutdown of an area. The server takes each step with all areas, the last created first, before the next
/// step.
#[async_trait]
pub trait Closing: Send + Sync {
    /// First step, while requests still run: they must stop waiting. Also called, alone, when another node
    /// has taken over.
    fn stop(&self) {}

    /// Second step: no request runs any more, the loops still do. It must limit its own duration.
    async fn settle(&self) {}

    /// Last step: no loop runs any more. Plugins and database are still available. After ten seconds it is
    /// abandoned.
    async fn close(&self) {}
}

/// A started area.
pub struct Area {
    pub spec: &'static AreaSpec,
    /// Routes with their state.
    pub routes: Routes,
    /// Background loops, not started yet.
    pub loops: Vec<Loop>,
    /// Event consumers, not started yet.
    pub consumers: Vec<Arc<dyn Consumer>>,
    /// `None`: nothing to do at shutdown.
    pub closing: Option<Arc<dyn Closing>>,
}

/// Function that starts a loop.
pub type Loop = Box<dyn FnOnce(&Background) + Send>;

impl Area {
    pub fn new(spec: &'static AreaSpec, routes: Routes) -> Self {
        Self {
            spec,
            routes,
            loops: Vec::new(),
            consumers: Vec::new(),
            closing: None,
        }
    }

    /// Adds a loop with this name and interval, which [`Background::supervise`] will run.
    #[must_use]
    pub fn looping<F>(
        mut self,
        (name, every): (&'static str, Duration),
        make: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.loops.push(Box::new(move |background| {
            background.supervise(name, every, make);
        }));
        self
    }

    /// Adds a durable event consumer.
    #[must_use]
    pub fn consuming(mut self, consumer: Arc<dyn Consumer>) -> Self {
        self.consumers.push(consumer);
        self
    }

    #[must_use]
    pub fn closing(mut self, closing: Arc<dyn Closing>) -> Self {
        self.closing = Some(closing);
        self
    }
}
