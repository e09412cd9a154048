//! Owners of what several plugins may provide: an action, a protocol. Each id belongs to one of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::catalog::Catalog;
use crate::core::load::Loaded;
use crate::core::role::{Claims, Roles};
use crate::core::status::PluginStatus;

/// Plugins of a role, whoever has a claim before another one first: what was built together with the server, then by how
/// long an id has been pinned. A plugin waits for older files that are not loaded yet: after a start one that compiles slowly
/// would else lose what it provides to another one for a while.
pub(crate) fn providers(catalog: &Catalog, role: &'static str) -> Vec<Arc<Loaded>> {
    let mut all = catalog.in_use(role);
    all.retain(|(slot, code)| code.first_party || !catalog.awaits_older(role, slot.pinned_at()));
    all.sort_by(|(slot, code), (other_slot, other)| {
        let rank = (!code.first_party, slot.pinned_at(), &slot.id);
        rank.cmp(&(!other.first_party, other_slot.pinned_at(), &other_slot.id))
    });
    all.into_iter().map(|(_, code)| code).collect()
}

/// Adds to a list of plugins, for every role, which of their things others provide.
pub(crate) fn tell(catalog: &Catalog, roles: Roles, plugins: &mut [PluginStatus]) {
    for role in roles {
        if let Some(claims) = role.claims() {
            tell_of_role(&providers(catalog, role.name()), (role.name(), claims), plugins);
        }
    }
}

fn tell_of_role(
    providers: &[Arc<Loaded>],
    (role, Claims { noun, ids }): (&str, Claims),
    plugins: &mut [PluginStatus],
) {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut lost: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for code in providers {
        for id in ids(&code.about) {
            if let Some(owner) = owners.get(&id) {
                let text = format!(
                    "its {noun} `{id}` is not used: `{owner}` provides one of that id and comes first"
                );
                lost.entry(code.about.id.clone()).or_default().push(text);
            } else {
                owners.insert(id, code.about.id.clone());
            }
        }
    }
    for plugin in plugins
        .iter_mut()
        .filter(|plugin| plugin.kind.as_deref() == Some(role))
    {
        if let Some(texts) = lost.get(&plugin.id) {
            let told: Vec<_> = plugin
                .reason
                .take()
                .into_iter()
                .chain(texts.iter().cloned())
                .collect();
            plugin.reason = Some(told.join("; "));
        }
    }
}
