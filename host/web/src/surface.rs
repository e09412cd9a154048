//! Assembly of the routes: one router, one document.

use std::sync::Arc;

use axum::Router;
use qm_kernel::{Ctx, TokenVerifier};

use crate::config::{Docs, DocumentMaker, WebConfig};
use crate::edge::{EdgeLayer, method_not_allowed, not_found};
use crate::guard::{Gate, GuardLayer};
use crate::metrics::HttpMetrics;
use crate::routes::{Answering, Limit, Routes};
use crate::{docs, openapi};

/// Guards every line, wraps everything in the edge, and describes it. Two lines for one method and path, or
/// two surfaces with one registry, are programming errors and panic at start.
pub fn finish(routes: Routes<()>, config: WebConfig, verifier: Arc<dyn TokenVerifier>, ctx: Ctx) -> Router {
    // A debug build detects wrong descriptions at its first start.
    let api = (cfg!(debug_assertions) || matches!(config.docs, Docs::Described))
        .then(|| openapi::describe(&config, &routes));
    let patterns = routes.lines.iter().flat_map(|line| &line.answering.paths);
    let metrics = match HttpMetrics::new(&config.metrics, patterns.map(String::as_str)) {
        Ok(metrics) => Arc::new(metrics),
        Err(error) => panic!("requests cannot be counted: {error}"),
    };
    let gate = Arc::new(Gate::new(
        verifier,
        ctx.clone(),
        config.trusted_proxies,
        metrics.throttled().clone(),
    ));
    let general = (config.throttle_limit > 0).then_some(config.throttle_limit);

    let mut router = Router::new();
    let mut next_route = 0;
    for line in routes.lines {
        let limit = match line.limit {
            Limit::Default => general,
            Limit::Of(hits) => Some(hits),
            Limit::None => None,
        };
        let bodies = line.body_bounds();
        let Answering { paths, handlers } = line.answering;
        for path in &paths {
            let guard = GuardLayer::new(Arc::clone(&gate), line.access.clone(), limit, bodies, next_route);
            router = router.route(path, handlers.clone().route_layer(guard));
            next_route += 1;
        }
    }
    let maker: Option<DocumentMaker> = match (&config.docs, api) {
        (Docs::Later(maker), _) => Some(Arc::clone(maker)),
        (Docs::Described, Some(api)) => Some(Arc::new(move || openapi::document(&api))),
        _ => None,
    };
    if let Some(maker) = maker {
        router = router.merge(docs::router(maker, &gate, general, next_route));
    }
    for mounted in routes.mounted {
        router = router.merge(mounted);
    }
    router = router
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    router.layer(EdgeLayer::new(&config, metrics, ctx))
}
