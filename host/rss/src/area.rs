//! RSS as an area of the service.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_platform::area::{Area, AreaError, AreaSpec, Make, MenuEntry, Module};
use qm_platform::{Ground, Ports};
use qm_ports::action::HouseFirst;
use qm_ports::feed::FeedSource;
use qm_ports::intake::TorrentIntake;
use qm_ports::shows::{ShowRules, ShowStatuses};
use qm_realtime::Hub;

use crate::{EVENTS, Rss, RssDeps, routes};

pub static AREA: AreaSpec = AreaSpec {
    name: "rss",
    events: EVENTS,
    sealed: Vec::new,
    module: "rss",
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
    notifications: &[],
    described: || routes().described(),
    after: &["torrents", "shows"],
    make: Make::Plain(make),
};

/// The area, made from the ports of those before it.
fn make(ground: &Ground, ports: &mut Ports) -> Result<Area, AreaError> {
    let rss = Rss::new(RssDeps {
        ground: ground.clone(),
        feeds: ports.get::<Arc<dyn FeedSource>>()?,
        torrents: ports.get::<Arc<dyn TorrentIntake>>()?,
        shows: ports.get::<Arc<dyn ShowStatuses>>()?,
        hub: ports.get::<Hub>()?,
    });
    ports.get::<Arc<HouseFirst>>()?.add(&rss);
    ports.offer::<Arc<dyn ShowRules>>(rss.clone());
    Ok(area(&rss))
}

/// Area with its routes and loops.
fn area(rss: &Arc<Rss>) -> Area {
    let (polling, grabbing, kept) = (rss.clone(), rss.clone(), rss.clone());
    Area::new(&AREA, routes().with_state(rss.clone()))
        .looping(Rss::POLL, move |stop| polling.clone().poll_loop(stop))
        .looping(Rss::GRABS, move |stop| grabbing.clone().grabs_loop(stop))
        .looping(Rss::UPKEEP, move |stop| kept.clone().upkeep_loop(stop))
}
