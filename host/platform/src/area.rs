//! An area of the service as one value.
//!
//! What an area is stands in a constant of its crate, an [`AreaSpec`], and is known without starting anything: the document
//! of the API, the change of keys and the menu of clients are made from the list of all of them. What a started area gives
//! the server is an [`Area`]: the server merges its routes, runs its loops, hands its consumers to the outbox and ends it in
//! three steps ([`Closing`]), and knows nothing else of it. The area makes itself ([`Make`]) from the [`Ground`] and from the
//! [`Ports`] that areas before it offered. Settings and statements are listed where they are declared
//! ([`settings!`](macro@crate::settings), `sql!`); metrics an area registers while it is made.

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
use crate::outbox::Consumer;
use crate::ports::{PortMissing, Ports};
use crate::sealed::SealedValues;

/// What an area is.
#[derive(Debug)]
pub struct AreaSpec {
    /// e.g. `torrents`; its settings name it as their owner.
    pub name: &'static str,
    /// The kinds of events it publishes.
    pub events: &'static [EventSpec],
    /// The values it stores encrypted.
    pub sealed: fn() -> Vec<Arc<dyn SealedValues>>,
    /// Module that its background loops are listed under; `system` for one without pages of its own.
    pub module: &'static str,
    /// What clients show of it.
    pub modules: &'static [Module],
    /// What people may do with its things, for toolbars.
    pub context_actions: &'static [ContextAction],
    /// Its routes, for a document: they cannot answer.
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

/// Something that people do with a thing they have chosen, or with none, as clients build toolbars from it. No boundary of
/// rights: the route that does it is.
#[derive(Debug)]
pub struct ContextAction {
    /// e.g. `torrents.pause`
    pub id: &'static str,
    /// The group of the toolbar.
    pub group: &'static str,
    /// The kind of things it is about; none: it is about nothing that is chosen.
    pub entity: Option<&'static str>,
    /// `none`, `single`, `multi` or `any`.
    pub arity: &'static str,
    /// All of them are needed.
    pub permissions: &'static [Permission],
    pub destructive: bool,
    /// For views of the running of things only.
    pub operations_only: bool,
    /// What a thing must be able to do.
    pub capability: Option<&'static str>,
    /// Where it cannot be done it is shown all the same, and cannot be chosen.
    pub shown_disabled: bool,
    /// It goes on after it was answered, as a job.
    pub goes_on: bool,
    /// Things at once.
    pub max_selection: Option<u32>,
    pub icon: &'static str,
    /// Lowest first within its group.
    pub order: u16,
}

impl ContextAction {
    /// One about any number of things, which nothing more is said of.
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

    /// About nothing that is chosen.
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

/// A part of the service as clients draw their menu from it. All of them are always on: nothing is licensed, and nothing
/// can be switched off.
#[derive(Debug)]
pub struct Module {
    /// The id that clients know it by.
    pub id: &'static str,
    /// Where it stands among all modules, lowest first; behind those it needs.
    pub place: u16,
    pub name: &'static str,
    pub about: &'static str,
    /// Modules it builds on, by id.
    pub needs: &'static [&'static str],
    /// What its permissions begin with, the dot included.
    pub families: &'static [&'static str],
    pub menu: &'static [MenuEntry],
    /// What it can do, one word each.
    pub features: &'static [&'static str],
}

/// A page of clients.
#[derive(Clone, Copy, Debug)]
pub struct MenuEntry {
    pub label: &'static str,
    /// Name of its picture in the set of icons `lucide`, e.g. `Folder`.
    pub icon: &'static str,
    /// Where clients keep it.
    pub path: &'static str,
    /// Who may see it.
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

/// How an area ends. The server takes each step with all areas, the one that was made last first, before it takes the next
/// step.
#[async_trait]
pub trait Closing: Send + Sync {
    /// While requests still run: they are to wait for nothing any more. Also called, alone, when another node has taken
    /// over.
    fn stop(&self) {}

    /// When no request runs any more, and the loops still do. It bounds itself.
    async fn settle(&self) {}

    /// When no loop runs any more. The plugins are still there, and the database. What takes longer than ten seconds is left.
    async fn close(&self) {}
}

/// A started area.
pub struct Area {
    pub spec: &'static AreaSpec,
    /// Ready to answer.
    pub routes: Routes,
    /// Not started yet.
    pub loops: Vec<Loop>,
    /// Not started yet.
    pub consumers: Vec<Arc<dyn Consumer>>,
    /// `None`: nothing needs to be done at its end.
    pub closing: Option<Arc<dyn Closing>>,
}

/// Starts a loop.
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

    /// With a loop of this name and interval, which [`Background::supervise`] will run.
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

    /// With somebody who must not miss an event.
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
