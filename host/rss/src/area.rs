//! RSS as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaSpec, MenuEntry, Module};

use crate::{EVENTS, Rss, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "rss",
    events: EVENTS,
    sealed: Vec::new,
    modules: &[Module {
        id: "rss",
        place: 70,
        name: "RSS",
        about: "Feeds that are followed, and rules that grab from them.",
        needs: &["torrents"],
        families: &["rss."],
        menu: &[MenuEntry {
            label: "RSS",
            icon: "Rss",
            path: "/rss",
            permission: Permission::RssView,
        }],
        features: &["feeds", "rules", "history", "smart_match", "import_export"],
    }],
    context_actions: &[],
    described: || routes().described(),
};

/// The started area with its background loops: polling, grabbing, upkeep.
pub fn area(rss: &Arc<Rss>) -> Area {
    let (polling, grabbing, kept) = (rss.clone(), rss.clone(), rss.clone());
    Area::new(&AREA, routes().with_state(rss.clone()))
        .looping(Rss::POLL, move |stop| polling.clone().poll_loop(stop))
        .looping(Rss::GRABS, move |stop| grabbing.clone().grabs_loop(stop))
        .looping(Rss::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
}
