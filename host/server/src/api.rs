//! All routes of the service, and the document that is made of them without starting anything.

use qm_web::{Routes, WebConfig};

use crate::PRODUCT;

/// The state each area's routes run with.
pub struct States {
    pub identity: qm_identity::Identity,
    pub system: qm_system::System,
    pub torrents: std::sync::Arc<qm_torrents::Torrents>,
    pub files: std::sync::Arc<qm_files::Files>,
    pub jobs: qm_jobs::Jobs,
}

/// Every route, ready to serve. The realtime channel is mounted beside them.
pub fn routes(states: States) -> Routes {
    Routes::new()
        .merge(qm_system::routes().with_state(states.system))
        .merge(qm_identity::routes().with_state(states.identity))
        .merge(qm_torrents::routes().with_state(states.torrents))
        .merge(qm_files::routes().with_state(states.files))
        .merge(qm_jobs::routes().with_state(states.jobs))
}

/// The OpenAPI document of [`routes`] as a server without variables serves it.
pub fn document() -> Result<String, serde_json::Error> {
    document_with(&WebConfig {
        product: PRODUCT.to_owned(),
        version: crate::VERSION.to_owned(),
        ..WebConfig::default()
    })
}

/// The OpenAPI document of [`routes`] on this surface.
pub fn document_with(config: &WebConfig) -> Result<String, serde_json::Error> {
    let routes = Routes::new()
        .merge(qm_system::routes().described())
        .merge(qm_identity::routes().described())
        .merge(qm_torrents::routes().described())
        .merge(qm_files::routes().described())
        .merge(qm_jobs::routes().described());
    qm_web::document(&qm_web::describe(config, &routes))
}
