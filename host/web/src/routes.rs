//! Route lines. A line says in one place what it answers to, who may call it and how often; a line that does not
//! say who may call it does not compile, because [`Routes::add`] takes only a [`GuardedLine`].

use std::convert::Infallible;
use std::sync::Arc;

use axum::routing::MethodRouter;
use qm_kernel::Permission;
use utoipa::openapi::path::{HttpMethod, Paths};
use utoipa::openapi::{RefOr, Schema};

use crate::body::BodyBounds;

/// Names the handlers of one path: `routes!(list_engines)` or `routes!(get_engine, update_engine)`.
/// Each carries `#[utoipa::path]`; all of them get the same access.
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

/// What [`crate::routes!`] describes handlers by.
pub type Described<S> = (Vec<(String, RefOr<Schema>)>, Paths, MethodRouter<S, Infallible>);

/// What answers, and where.
pub struct Answering<S> {
    /// The paths as they are matched, each once.
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

    /// And one handler more, by the methods it has.
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

/// What is said of the handlers of a line: schemas and operations. Made when the document is: it is large, and most starts
/// need none of it.
type Description = Arc<dyn Fn() -> (Vec<(String, RefOr<Schema>)>, Paths) + Send + Sync>;

/// Handlers of one path that nobody may call yet.
pub struct Line<S>(Answering<S>, Description);

impl<S: 'static> Line<S> {
    pub fn new(answering: Answering<S>, describe: fn() -> Described<S>) -> Self {
        let description = move || {
            let (schemas, paths, _) = describe();
            (schemas, paths)
        };
        Self(answering, Arc::new(description))
    }

    /// For callers that hold this permission.
    pub fn need(self, permission: Permission) -> GuardedLine<S> {
        self.need_all(&[permission])
    }

    /// For callers that hold every one of these.
    pub fn need_all(self, permissions: &[Permission]) -> GuardedLine<S> {
        self.guarded(Access::All(permissions.to_vec()))
    }

    /// For every caller with a valid token.
    pub fn authenticated(self) -> GuardedLine<S> {
        self.guarded(Access::Authenticated)
    }

    /// For callers with a ticket in the query parameter of that name, which the handler checks: players send no header.
    pub fn ticketed(self, parameter: &'static str) -> GuardedLine<S> {
        self.guarded(Access::Ticket(parameter))
    }

    /// For everybody.
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

/// Who may call a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Public,
    Authenticated,
    /// By a ticket in this query parameter; the handler's to check.
    Ticket(&'static str),
    All(Vec<Permission>),
}

/// How often one address may call a line in 60 s.
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
    /// Bytes; `None`: the usual size.
    pub(crate) body: Option<usize>,
    /// What the handler asks for beside `access`, by what a body says.
    pub(crate) by_body: Vec<ByBody>,
}

/// Permissions that values of a body's property need. The handler judges; the document tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByBody {
    pub(crate) property: &'static str,
    pub(crate) needed: Vec<(&'static str, Permission)>,
}

impl<S> GuardedLine<S> {
    /// Takes bodies up to this size, in bytes, instead of the usual one. A handler that reads a body keeps all of it in
    /// memory.
    pub fn body(mut self, most: usize) -> Self {
        self.body = Some(most);
        self
    }

    /// Schemas and operations.
    pub(crate) fn describe(&self) -> (Vec<(String, RefOr<Schema>)>, Paths) {
        (self.description)()
    }

    /// Says that the handler asks for more than the line: which permission, by the value of a property of the body. What is
    /// said here is for the document, so it is made of what the handler judges by.
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

    /// A budget of its own, whatever the general one is: hits in 60 s by method, route and address.
    pub fn limit(mut self, hits: u32) -> Self {
        self.limit = Limit::Of(hits);
        self
    }

    /// Not throttled at all.
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

    /// Hands the area its state; the routes of several areas merge once each has its own.
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

    /// What the lines answer to, without their handlers: for the document of a server that is not running.
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

    /// Routes that authenticate in a way of their own, which is the realtime channel and nothing else: they get request
    /// ids, headers and the panic guard, but neither throttle nor bearer check, and are not in the API document.
    pub fn mount(mut self, router: axum::Router) -> Self {
        self.mounted.push(router);
        self
    }
}
