//! The document of the whole API, made without starting anything.

use qm_web::WebConfig;

use crate::{PRODUCT, areas};

/// The OpenAPI document of every area as a server without variables serves it.
pub fn document() -> Result<String, serde_json::Error> {
    document_with(&WebConfig {
        product: PRODUCT.to_owned(),
        version: crate::VERSION.to_owned(),
        ..WebConfig::default()
    })
}

/// The OpenAPI document of every area on this surface.
pub fn document_with(config: &WebConfig) -> Result<String, serde_json::Error> {
    qm_web::document(&qm_web::describe(config, &areas::described()))
}
