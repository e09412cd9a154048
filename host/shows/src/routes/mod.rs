//! The routes of shows: parse, call the service, shape.

mod lookup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Shows;

type App = axum::extract::State<Arc<Shows>>;

/// Lookups per client address and minute; each may ask every provider once or twice.
const LOOKUPS: u32 = 60;
/// The same limit for batches of fifty titles.
const BATCHES: u32 = 6;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Shows>> {
    Routes::new()
        .add(
            routes!(lookup::look_up)
                .need(P::RssShowStatusLookup)
                .limit(LOOKUPS),
        )
        .add(
            routes!(lookup::look_up_all)
                .need(P::RssShowStatusLookup)
                .limit(BATCHES),
        )
}
