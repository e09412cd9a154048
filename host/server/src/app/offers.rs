//! Offers of the server to the areas: its configuration, its plugins, and introductions of areas to each other.

use std::sync::Arc;

use qm_confined::ServerPlaces;
use qm_files::StreamConfig;
use qm_platform::{PortMissing, Ports};
use qm_plugin_roles::Plugins;
use qm_ports::action::{Actions, HouseFirst, MediaHands, TorrentHands};
use qm_ports::carry::DataMover;
use qm_ports::channel::Channels;
use qm_ports::engine::EngineKinds;
use qm_ports::indexer::Protocols;
use qm_ports::mail::Mailer;
use qm_ports::media_server::MediaServerKinds;
use qm_ports::metadata::Providers;
use qm_ports::shows::ShowRules;
use qm_shows::Shows;
use qm_torrents::Torrents;

use crate::config::Config;
use crate::failure::StartError;
use crate::secrets::Secrets;
use crate::start::own_places;

/// Offers configuration that areas of their own read.
pub(super) fn offer_config(ports: &mut Ports, config: &Config, secrets: &Secrets) -> Result<(), StartError> {
    ports.offer(ServerPlaces {
        roots: config.file_roots.clone(),
        own: own_places(config)?,
        data_dir: config.data_dir.clone(),
    });
    ports.offer(StreamConfig {
        signing: secrets.jwt_access.clone(),
        cors_origins: config.cors_origins.clone(),
    });
    ports.offer(config.provider_keys.clone());
    Ok(())
}

/// Offers the roles of installed plugins, or what a test brings in their place.
pub(super) fn offer_plugins(
    ports: &mut Ports,
    plugins: &Plugins,
    kinds: Option<Arc<dyn EngineKinds>>,
    actions: Option<Arc<dyn Actions>>,
    channels: Option<Arc<dyn Channels>>,
) {
    ports.offer::<Arc<dyn EngineKinds>>(kinds.unwrap_or_else(|| plugins.engine_kinds()));
    let actions = actions.unwrap_or_else(|| plugins.actions());
    ports.offer(Arc::new(HouseFirst::new(actions)));
    ports.offer::<Arc<dyn Channels>>(channels.unwrap_or_else(|| plugins.channels()));
    ports.offer::<Arc<dyn Protocols>>(plugins.protocols());
    ports.offer::<Arc<dyn MediaServerKinds>>(plugins.media_servers());
    ports.offer::<Arc<dyn Providers>>(plugins.providers());
}

/// Connects areas to those that were made before them, and to the plugins: movers of data, control of torrents and media,
/// mail, and rules about shows.
pub(super) fn introduce(ports: &Ports, plugins: &Plugins) -> Result<(), PortMissing> {
    let torrents = ports.get::<Arc<Torrents>>()?;
    torrents.use_mover(&ports.get::<Arc<dyn DataMover>>()?);
    let shows = ports.get::<Arc<Shows>>()?;
    shows.use_rules(&ports.get::<Arc<dyn ShowRules>>()?);
    plugins.use_hands(&ports.get::<Arc<dyn TorrentHands>>()?);
    plugins.use_media(&ports.get::<Arc<dyn MediaHands>>()?);
    plugins.use_mailer(ports.get::<Arc<dyn Mailer>>()?);
    Ok(())
}
