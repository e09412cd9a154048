//! Areas that need nothing but the ground, and a port or two.

use std::path::PathBuf;
use std::sync::Arc;

use qm_automation::Automation;
use qm_files::Files;
use qm_indexers::{Indexers, IndexersDeps};
use qm_jobs::Jobs;
use qm_library::{Library, LibraryDeps, Outside, Pace, Prober};
use qm_mail::{Mail, MailDeps};
use qm_media_servers::{Integrations, IntegrationsDeps};
use qm_metadata::{MetadataArea, MetadataDeps};
use qm_notifications::{Notifications, NotificationsDeps};
use qm_platform::area::Area;
use qm_plugin_host::PluginHost;
use qm_ports::action::{HouseFirst, MediaHands};
use qm_ports::channel::Channels;
use qm_ports::shows::ShowRules;
use qm_realtime::Hub;
use qm_rss::{Rss, RssDeps};
use qm_shows::{Shows, ShowsDeps};
use qm_titledb::{Titledb, TitledbDeps};
use qm_torrents::Torrents;

use super::Ground;
use crate::config::Config;
use crate::failure::StartError;
use crate::feeds::GuardedFeeds;
use crate::media::MediaTriggers;
use crate::start::own_places;

impl Ground {
    /// Notifications, of which nothing is sent yet; their action is added to `actions`.
    pub(super) fn notifications(
        &self,
        channels: Arc<dyn Channels>,
        hub: &Hub,
        actions: &HouseFirst,
    ) -> Result<Arc<Notifications>, StartError> {
        let made = Notifications::new(NotificationsDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            acting: self.acting(),
            people: Arc::new(self.identity.clone()),
            cipher: self.cipher.clone(),
            settings: self.settings.clone(),
            hub: hub.clone(),
            channels,
            metrics: self.metrics.clone(),
        })?;
        actions.add(&made);
        Ok(made)
    }

    pub(super) fn mail(&self) -> Arc<Mail> {
        Mail::new(MailDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            settings: self.settings.clone(),
            cipher: self.cipher.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            net: self.net.clone(),
        })
    }

    pub(super) fn indexers(&self, plugins: &PluginHost) -> Arc<Indexers> {
        Indexers::new(IndexersDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            cipher: self.cipher.clone(),
            settings: self.settings.clone(),
            net: self.net.clone(),
            protocols: plugins.protocols(),
        })
    }

    /// The media libraries, the media servers that people play with, and who tells what is in their media. What rules may do
    /// with them is added to `actions`, and what actions of plugins may is handed to `plugins`.
    pub(super) fn media(
        &self,
        config: &Config,
        plugins: &PluginHost,
        jobs: &Jobs,
        automation: &Arc<Automation>,
        actions: &HouseFirst,
        (outside, servers): (Outside, Arc<Integrations>),
    ) -> Result<[Area; 3], StartError> {
        let metadata = self.metadata(config, plugins);
        let library = self.library(config, jobs, automation, outside, &metadata)?;
        actions.add(library.orders()).add(&servers);
        let hands: Arc<dyn MediaHands> = library.orders().clone();
        plugins.use_media(&hands);
        Ok([
            qm_library::area(&library),
            qm_media_servers::area(&servers),
            qm_metadata::area(&metadata),
        ])
    }

    /// Who tells what films and shows are; nobody is asked yet.
    fn metadata(&self, config: &Config, plugins: &PluginHost) -> Arc<MetadataArea> {
        MetadataArea::new(MetadataDeps {
            db: self.db.clone(),
            settings: self.settings.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            providers: plugins.providers(),
            environment: config.provider_keys.clone(),
            net: self.net.clone(),
        })
    }

    /// The media servers that people play with; none is asked yet.
    fn media_servers(&self, plugins: &PluginHost, jobs: &Jobs) -> Arc<Integrations> {
        Integrations::new(IntegrationsDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            cipher: self.cipher.clone(),
            kinds: plugins.media_servers(),
            jobs: jobs.clone(),
        })
    }

    /// Shows, of which the data set of titles tells, and feeds with their rules, which hear of their shows. Nothing is
    /// fetched yet.
    pub(super) fn shows_and_rss(
        &self,
        torrents: &Arc<Torrents>,
        titledb: &Arc<Titledb>,
        hub: &Hub,
    ) -> (Arc<Shows>, Arc<Rss>) {
        let shows = Shows::new(ShowsDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            hub: hub.clone(),
            providers: vec![titledb.clone()],
        });
        let rss = Rss::new(RssDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            settings: self.settings.clone(),
            feeds: Arc::new(GuardedFeeds::new(self.net.clone())),
            torrents: torrents.clone(),
            shows: shows.clone(),
            hub: hub.clone(),
        });
        let rules: Arc<dyn ShowRules> = rss.clone();
        shows.use_rules(&rules);
        (shows, rss)
    }

    /// The data set of titles; its imports are jobs, none of which has begun.
    pub(super) fn titledb(&self, config: &Config, jobs: &Jobs, hub: &Hub) -> Arc<Titledb> {
        Titledb::new(TitledbDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            settings: self.settings.clone(),
            cipher: self.cipher.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            hub: hub.clone(),
            jobs: jobs.clone(),
            net: self.net.clone(),
            file_roots: config.file_roots.iter().map(PathBuf::from).collect(),
            data_dir: config.data_dir.clone(),
        })
    }

    /// The media libraries; their scans are jobs, none of which has begun.
    fn library(
        &self,
        config: &Config,
        jobs: &Jobs,
        automation: &Arc<Automation>,
        outside: Outside,
        metadata: &Arc<MetadataArea>,
    ) -> Result<Arc<Library>, StartError> {
        let own = own_places(config)?.into_iter().map(|place| place.path);
        Ok(Library::new(LibraryDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            jobs: jobs.clone(),
            triggers: Arc::new(MediaTriggers::new(automation.clone())),
            file_roots: config.file_roots.clone(),
            own: own.collect(),
            pace: Pace::default(),
            prober: Prober::default(),
            outside,
            metadata: metadata.clone(),
        }))
    }

    /// What the media libraries may do to files, torrents and media servers, and who tells them for whom; with the servers.
    pub(super) fn outside(
        &self,
        plugins: &PluginHost,
        jobs: &Jobs,
        (torrents, files): (&Arc<Torrents>, &Arc<Files>),
        titledb: &Arc<Titledb>,
        hub: &Hub,
    ) -> (Outside, Arc<Integrations>) {
        let servers = self.media_servers(plugins, jobs);
        let outside = Outside {
            mover: files.clone(),
            payloads: torrents.clone(),
            hands: torrents.clone(),
            holders: Arc::new(self.identity.clone()),
            hub: hub.clone(),
            titles: titledb.clone(),
            servers: servers.clone(),
        };
        (outside, servers)
    }
}
