//! The routes of RSS: parse, call the service, shape.

mod candidates;
mod faults;
mod feeds;
mod history;
mod rules;
#[cfg(test)]
mod tests;
mod transfer;
mod trials;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::model::rule::{INSISTS, TO_INSIST};
use crate::service::Rss;

type App = axum::extract::State<Arc<Rss>>;

/// Largest import body in bytes.
const BUNDLE: usize = 25 << 20;

/// Refreshes per client address and minute: each is a request to a foreign server.
const REFRESHES: u32 = 60;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Rss>> {
    Routes::new()
        .add(routes!(feeds::list_feeds).need(P::RssView))
        .add(routes!(feeds::create_feed).need(P::RssManage))
        .add(routes!(feeds::update_feed).need(P::RssManage))
        .add(routes!(feeds::delete_feed).need(P::RssManage))
        .add(routes!(feeds::refresh_feed).need(P::RssManage).limit(REFRESHES))
        .add(routes!(feeds::feed_history).need(P::RssView))
        .add(routes!(transfer::export_feed_rules).need(P::RssView))
        .add(routes!(rules::list_rss_rules).need(P::RssView))
        .add(
            routes!(rules::create_rss_rule)
                .need(P::RssManage)
                .needs_by(INSISTS, [("true", TO_INSIST)]),
        )
        .add(routes!(trials::preview_rss_rule).need(P::RssView))
        .add(
            routes!(rules::update_rss_rule)
                .need(P::RssManage)
                .needs_by(INSISTS, [("true", TO_INSIST)]),
        )
        .add(routes!(rules::delete_rss_rule).need(P::RssManage))
        .add(routes!(rules::backfill_rule).need(P::RssManage))
        .add(routes!(rules::match_history).need(P::RssView))
        .add(routes!(candidates::list_candidates).need(P::RssView))
        .add(routes!(candidates::create_candidate).need(P::RssManage))
        .add(routes!(candidates::reorder_candidates).need(P::RssManage))
        .add(routes!(candidates::update_candidate).need(P::RssManage))
        .add(routes!(candidates::delete_candidate).need(P::RssManage))
        .add(routes!(candidates::apply_smart_match).need(P::RssManage))
        .add(routes!(trials::test_match).need(P::RssView))
        .add(routes!(trials::test_preference_list).need(P::RssView))
        .add(routes!(trials::test_history).need(P::RssView))
        .add(routes!(trials::convert_to_regex).need(P::RssView))
        .add(routes!(trials::analyze_name).need(P::RssView))
        .add(routes!(trials::test_smart_match).need(P::RssView))
        .add(routes!(history::download_item).need(P::RssManage))
        .add(routes!(history::reset_item).need(P::RssManage))
        .add(routes!(transfer::export_rules).need(P::RssView))
        .add(routes!(transfer::import_rules).need(P::RssManage).body(BUNDLE))
}
