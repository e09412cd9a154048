//! The routes of the rules: parse, call the service, shape.

mod faults;
mod rules;
#[cfg(test)]
mod tests;
mod trial;

use std::sync::Arc;

use qm_kernel::Permission as P;
use qm_web::{Routes, routes};

use crate::service::Automation;

type App = axum::extract::State<Arc<Automation>>;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Automation>> {
    Routes::new()
        .add(routes!(rules::catalogue).need(P::AutomationView))
        .add(routes!(rules::list_rules).need(P::AutomationView))
        .add(routes!(rules::create_rule).need(P::AutomationManage))
        .add(routes!(trial::preview_rule).need(P::AutomationManage))
        .add(routes!(rules::update_rule).need(P::AutomationManage))
        .add(routes!(rules::delete_rule).need(P::AutomationManage))
        .add(routes!(rules::rule_logs).need(P::AutomationView))
        .add(routes!(trial::explain_rule).need(P::AutomationView))
}
