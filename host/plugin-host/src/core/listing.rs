//! Files and their plugins as `GET /api/plugins` and `quartermaster plugin check` show them.

use std::sync::atomic::Ordering::Relaxed;

use crate::core::load::{Facts, Loaded, Refusal};
use crate::core::pins::Granted;
use crate::core::slot::Slot;
use crate::core::status::{LaneState, PluginState, PluginStatus};

pub(crate) fn stem(name: &str) -> &str {
    name.strip_suffix(".wasm").unwrap_or(name)
}

/// A file that is not used.
pub(crate) fn refused(name: &str, refusal: &Refusal) -> PluginStatus {
    let id = refusal.id.as_deref().unwrap_or_else(|| stem(name));
    PluginStatus {
        state: refusal.state,
        reason: Some(refusal.reason.clone()),
        ..blank(name, id, &refusal.facts)
    }
}

/// A file as its plugin describes itself.
pub(crate) fn described(name: &str, loaded: &Loaded) -> PluginStatus {
    let about = &loaded.about;
    PluginStatus {
        label: Some(about.label.clone()),
        version: Some(about.version.clone()),
        capabilities: about.capabilities.clone(),
        hosts: about.hosts.clone(),
        asks: about.asks.clone(),
        first_party: loaded.first_party,
        ..blank(name, &about.id, &loaded.facts)
    }
}

/// A file that is in use.
pub(crate) fn active(name: &str, slot: &Slot) -> PluginStatus {
    let code = slot.code();
    let lanes = slot.lane_statuses();
    let parked = lanes
        .iter()
        .find(|lane| lane.state == LaneState::Parked)
        .map(|lane| {
            let why = lane.reason.as_deref().unwrap_or("it failed too often");
            format!(
                "the {} lane of `{}` is parked: {why}",
                lane.lane,
                if lane.owner.is_empty() {
                    &slot.id
                } else {
                    &lane.owner
                }
            )
        });
    let live = |state: LaneState| matches!(state, LaneState::Ready | LaneState::Running);
    let base = match &code {
        Some(code) => described(name, code),
        None => blank(name, &slot.id, &Facts::default()),
    };
    let granted = code.map_or_else(Granted::default, |code| slot.granted_to(&code));
    PluginStatus {
        reason: parked,
        instances: lanes.iter().filter(|lane| live(lane.state)).count() as u32,
        calls: slot.totals.calls.load(Relaxed),
        traps: slot.totals.traps.load(Relaxed),
        timeouts: slot.totals.timeouts.load(Relaxed),
        restarts: slot.totals.restarts.load(Relaxed),
        granted_hosts: granted.hosts,
        granted_capabilities: granted.capabilities,
        last_refusal: slot.refusals.last(),
        log_dropped: slot.log_dropped.load(Relaxed),
        memory_bytes: lanes.iter().map(|lane| lane.memory_bytes).sum(),
        lanes,
        ..base
    }
}

/// The facts that are known without running anything.
fn blank(file: &str, id: &str, facts: &Facts) -> PluginStatus {
    PluginStatus {
        id: id.to_owned(),
        label: None,
        version: None,
        kind: facts.role.clone(),
        file: file.to_owned(),
        api_version: facts.api_version.clone(),
        sha256: facts.sha256.clone(),
        size: facts.size,
        state: PluginState::Active,
        reason: None,
        pending_error: None,
        imports: facts.imports.clone(),
        exports: facts.exports.clone(),
        capabilities: Vec::new(),
        hosts: Vec::new(),
        asks: Vec::new(),
        first_party: false,
        granted_hosts: Vec::new(),
        granted_capabilities: Vec::new(),
        last_refusal: None,
        instances: 0,
        calls: 0,
        traps: 0,
        timeouts: 0,
        restarts: 0,
        log_dropped: 0,
        memory_bytes: 0,
        lanes: Vec::new(),
    }
}
