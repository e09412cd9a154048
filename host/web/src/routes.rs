//! Routes with their access rules. One line states path, permission and limit; a line without access does not
//! compile, because [`Routes::add`] accepts only a [`GuardedLine`].

use std::convert::Infallible;
use std::sync::Arc;

use axum::routing::MethodRouter;
use qm_kernel::Permission;
use utoipa::openapi::path::{HttpMethod, Paths};
use utoipa::openapi::{RefOr, Schema};

use crate::body::BodyBounds;

/// Handlers of one path: `routes!(list_engines)` or `routes!(get_engine, update_engine)`. Each has
/// `#[utoipa::path]`; all of them get the same access.
#[macro_export]
macro_rules! routes {
    ($($handler:path),+ $(,)?) => {
        $crate::Line::new(
            $crate::Answering::new()$(.with(
                // As utoipa_axum finds what `#[utoipa::path]` has written.
                $crate::utoipa_axum::paste! {
                    (
                        $crate::utoipa_axum::routes!(@path [path()] of $handler),
                        $crate::utoipa_axum::routes!(@path [methods()] of $handler),
                    )
                },
                |router, method| router.on($crate::utoipa_axum::PathItemExt::to_method_filter(method), $handler),
            ))+,
            || $crate::utoipa_axum::routes!($($handler),+),
        )
    };
}

/// Descriptions and handlers from [`crate::routes!`].
pub type Described<S> = (Vec<(String, RefOr<Schema>)>, Paths, MethodRouter<S, Infallible>);

/// Handlers with their paths.
pub struct Answering<S> {
    /// Matched paths, each once.
    pub(crate) paths: Vec<String>,
    pub(crate) handlers: MethodRouter<S, Infallible>,
}

impl<S: Clone + Send + Sync + 'static> Answering<S> {
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Self {
        Self {
            paths: Vec::new(),
            handlers: MethodRouter::new(),
        }
    }

    /// Adds another handler, for its methods.
    pub fn with(
        mut self,
        (path, methods): (String, Vec<HttpMethod>),
        on: impl Fn(MethodRouter<S, Infallible>, &HttpMethod) -> MethodRouter<S, Infallible>,
    ) -> Self {
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
        self.handlers = methods.iter().fold(self.handlers, on);
        self
    }
}

/// Schemas and operations of a line's handlers. Created with the document, because it is large and most
/// starts need none.
type Description = Arc<dyn Fn() -> (Vec<(String, RefOr<Schema>)>, Paths) + Send + Sync>;

/// Handlers of one path without access rules.
pub struct Line<S>(Answering<S>, Description);

impl<S: 'static> Line<S> {
    pub fn new(answering: Answering<S>, describe: fn() -> Described<S>) -> Self {
        let description = move || {
            let (schemas, paths, _) = describe();
            (schemas, paths)
        };
        Self(answering, Arc::new(description))
    }

    /// Access for holders of this permission.
    pub fn need(self, permission: Permission) -> GuardedLine<S> {
        self.need_all(&[permission])
    }

    /// Access for holders of all these permissions.
    pub fn need_all(self, permissions: &[Permission]) -> GuardedLine<S> {
        self.guarded(Access::All(permissions.to_vec()))
    }

    /// Access for every valid token.
    pub fn authenticated(self) -> GuardedLine<S> {
        self.guarded(Access::Authenticated)
    }

    /// Access by a ticket in this query parameter, which the handler checks: media players send no header.
    pub fn ticketed(self, parameter: &'static str) -> GuardedLine<S> {
        self.guarded(Access::Ticket(parameter))
    }

    /// Access for everybody.
    pub fn public(self) -> GuardedLine<S> {
        self.guarded(Access::Public)
    }

    fn guarded(self, access: Access) -> GuardedLine<S> {
        GuardedLine {
            answering: self.0,
            description: self.1,
            access,
            limit: Limit::Default,
            body: None,
            by_body: Vec::new(),
        }
    }
}

/// Access rule of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Public,
    Authenticated,
    /// By a ticket in this query parameter, which the handler checks.
    Ticket(&'static str),
    All(Vec<Permission>),
}

/// Requests per address and minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// [`crate::WebConfig::throttle_limit`]
    Default,
    Of(u32),
    None,
}

/// Handlers of one path with their access.
pub struct GuardedLine<S> {
    pub(crate) answering: Answering<S>,
    description: Description,
    pub(crate) access: Access,
    pub(crate) limit: Limit,
    /// Largest body in bytes; `None`: the default.
    pub(crate) body: Option<usize>,
    /// Further permissions that the handler needs for certain values of the body.
    pub(crate) by_body: Vec<ByBody>,
}

/// Permissions for values of a body property. The handler checks them; this is for the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByBody {
    pub(crate) property: &'static str,
    pub(crate) needed: Vec<(&'static str, Permission)>,
}

impl<S> GuardedLine<S> {
    /// Largest body in bytes, in place of the default. A handler that reads a body keeps all of it in memory.
    pub fn body(mut self, most: usize) -> Self {
        self.body = Some(most);
        self
    }

    /// Schemas and operations.
    pub(crate) fn describe(&self) -> (Vec<(String, RefOr<Schema>)>, Paths) {
        (self.description)()
    }

    /// Documents that the handler needs another permission, by the value of a body property. Built from the
    /// data that the handler uses itself.
    pub fn needs_by(
        mut self,
        property: &'static str,
        needed: impl IntoIterator<Item = (&'static str, Permission)>,
    ) -> Self {
        self.by_body.push(ByBody {
            property,
            needed: needed.into_iter().collect(),
        });
        self
    }

    pub(crate) fn body_bounds(&self) -> BodyBounds {
        let needs_token = match self.access {
            Access::Public | Access::Ticket(_) => false,
            Access::Authenticated | Access::All(_) => true,
        };
        BodyBounds::new(needs_token, self.body)
    }

    /// Sets a limit of its own: requests per minute, method, route and address.
    pub fn limit(mut self, hits: u32) -> Self {
        self.limit = Limit::Of(hits);
        self
    }

    /// Removes the limit.
    pub fn unlimited(mut self) -> Self {
        self.limit = Limit::None;
        self
    }
}

/// The routes of an area.
pub struct Routes<S = ()> {
    pub(crate) lines: Vec<GuardedLine<S>>,
    pub(crate) mounted: Vec<axum::Router>,
}

impl<S> Default for Routes<S> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            mounted: Vec::new(),
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub fn new() -> Self {
        Self::default()
    }

    #[expect(clippy::should_implement_trait, reason = "adds a line; nothing is summed")]
    pub fn add(mut self, line: GuardedLine<S>) -> Self {
        self.lines.push(line);
        self
    }

    pub fn merge(mut self, other: Routes<S>) -> Self {
        self.lines.extend(other.lines);
        self.mounted.extend(other.mounted);
        self
    }

    /// Sets the state of the area; the routes of several areas can be merged afterwards.
    pub fn with_state<S2>(self, state: S) -> Routes<S2> {
        let lines = self.lines.into_iter().map(|line| {
            let Answering { paths, handlers } = line.answering;
            let handlers = handlers.with_state(state.clone());
            GuardedLine {
                answering: Answering { paths, handlers },
                description: line.description,
                access: line.access,
                limit: line.limit,
                body: line.body,
                by_body: line.by_body,
            }
        });
        Routes {
            lines: lines.collect(),
            mounted: self.mounted,
        }
    }

    /// The lines without their handlers, for the document of a server that is not running.
    pub fn described(self) -> Routes {
        let lines = self.lines.into_iter().map(|line| {
            let answering = Answering {
                paths: line.answering.paths,
                handlers: MethodRouter::new(),
            };
            GuardedLine {
                answering,
                description: line.description,
                access: line.access,
                limit: line.limit,
                body: line.body,
                by_body: line.by_body,
            }
        });
        Routes {
            lines: lines.collect(),
            mounted: Vec::new(),
        }
    }

    /// Adds routes with their own authentication, i.e. the realtime channel: they get request ids, headers
    /// and the panic guard, but neither throttle nor token check, and are not in the API document.
    pub fn mount(mut self, router: axum::Router) -> Self {
        self.mounted.push(router);
        self
    }
}
