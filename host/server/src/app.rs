//! The wired service: every area with what it needs, ready to answer.
//!
//! Bounds: a shutdown lets running requests end (ten seconds, see `qm_web::serve`) and then each area ([`crate::areas`]).

mod made;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use prometheus::Registry;
use qm_automation::{Automation, AutomationDeps, RuleBook};
use qm_db::Db;
use qm_files::{Files, FilesDeps};
use qm_identity::{FirstAdmin, HashCost, Identity, IdentityDeps, IdentityError, Pace, Seeded, TokenService};
use qm_jobs::{Jobs, JobsDeps, Pace as JobPace};
use qm_kernel::{Ctx, Secret};
use qm_mail::Mail;
use qm_net::Net;
use qm_platform::outbox::{Consumer, Outbox, OutboxMetrics, Patience};
use qm_platform::{Acting, Audit, AuditTrail, Background, Bus, Cipher, Node, Settings};
use qm_plugin_host::{Compiler, Limits, PluginHost};
use qm_plugin_roles::Plugins;
use qm_ports::action::{Actions, HouseFirst, TorrentHands};
use qm_ports::carry::DataMover;
use qm_ports::channel::Channels;
use qm_ports::engine::EngineKinds;
use qm_realtime::{Hub, HubConfig, ws_router};
use qm_system::health::{Health, disks::Disks};
use qm_system::{
    PluginConfigurations, PluginPins, PluginValues, Sources, System, UpdateDeps, Updates, Watches,
};
use qm_torrents::{Torrents, TorrentsDeps};
use qm_web::{ConnectionLimits, Docs, WebConfig};
use tokio::net::TcpListener;

use crate::api;
use crate::areas::{self, Areas, Endings};
use crate::config::Config;
use crate::failure::StartError;
use crate::node::Post;
use crate::plugins::{Kept, plugins_config};
use crate::secrets::Secrets;
use crate::start::own_places;
use crate::{PRODUCT, VERSION, descriptors};

/// For sockets of a server that was succeeded to be told so.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What the service is wired from. The start makes them from the configuration; a test brings its own.
pub struct AppParts {
    pub config: Config,
    pub secrets: Secrets,
    pub ctx: Ctx,
    pub net: Net,
    /// Its database is open and migrated.
    pub post: Post,
    /// Bound already; connections wait in it until [`App::run`].
    pub listener: TcpListener,
    /// Nothing of it outside of tests.
    pub brought: Brought,
    /// Who compiles plugins.
    pub compiler: Compiler,
    /// Bounds on plugins.
    pub limits: Limits,
    pub passwords: Passwords,
}

/// What it costs to try a password.
pub struct Passwords {
    pub hash_cost: HashCost,
    /// How long those wait who guess passwords and codes.
    pub guesses: Pace,
}

/// What a test brings beside, or in place of, what installed plugins provide.
#[derive(Default)]
pub struct Brought {
    /// Consumers of events that no area has.
    pub consumers: Vec<Arc<dyn Consumer>>,
    /// `None` = the installed plugins.
    pub kinds: Option<Arc<dyn EngineKinds>>,
    /// `None` = the installed plugins.
    pub actions: Option<Arc<dyn Actions>>,
    /// `None` = the installed plugins.
    pub channels: Option<Arc<dyn Channels>>,
}

/// Why a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was asked to.
    Asked,
    /// Another server on its database is active now. What it had begun it has left as it was.
    Succeeded,
}

/// The service, wired and seeded, its background loops running; it answers once [`App::run`] is polled.
pub struct App {
    front: Front,
    post: Post,
    first_admin: Option<(String, Secret)>,
    db: Db,
    identity: Identity,
    tokens: Arc<TokenService>,
    bus: Bus,
    hub: Hub,
    plugins: Arc<Plugins>,
    torrents: Arc<Torrents>,
    files: Arc<Files>,
    jobs: Jobs,
    endings: Endings,
    background: Background,
}

/// Where requests come in.
struct Front {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    /// Whether `/api/docs` is among the routes.
    docs: bool,
    /// Whether a trusted proxy stands in front.
    proxied: bool,
}

impl Front {
    fn new(config: &Config, listener: TcpListener, router: Router, docs: bool) -> Result<Self, StartError> {
        let address = listener.local_addr();
        Ok(Self {
            address: address.map_err(|source| StartError::listen(config.listen, source))?,
            docs,
            proxied: config.trusted_proxies > 0,
            router,
            listener,
        })
    }
}

/// What every area stands on.
struct Ground {
    db: Db,
    net: Net,
    ctx: Ctx,
    /// When the process started.
    started: Instant,
    /// Each area registers what it counts; `GET /api/system/metrics` shows it.
    metrics: Registry,
    background: Background,
    bus: Bus,
    audit: Audit,
    cipher: Cipher,
    settings: Settings,
    tokens: Arc<TokenService>,
    identity: Identity,
    node: Node,
}

impl Ground {
    fn lay(
        config: &Config,
        secrets: &Secrets,
        post: &Post,
        net: &Net,
        passwords: &Passwords,
        ctx: &Ctx,
    ) -> Result<Self, StartError> {
        let started = Instant::now();
        let metrics = Registry::new();
        post.node.register(&metrics)?;
        let background = Background::new(&metrics)?;
        let bus = Bus::new(ctx.clone());
        for specs in areas::events() {
            bus.register(specs);
        }
        let db = post.db.clone().telling(Arc::new(bus.clone()));
        let audit = Audit::new(ctx.clone());
        let cipher = secrets.cipher(ctx);
        let tokens = Arc::new(TokenService::new(
            &secrets.jwt_access,
            config.access_ttl,
            ctx.clone(),
        ));
        let identity = Identity::new(IdentityDeps {
            db: db.clone(),
            audit: audit.clone(),
            cipher: cipher.clone(),
            tokens: tokens.clone(),
            hash_cost: passwords.hash_cost,
            pace: passwords.guesses,
            refresh_ttl: config.refresh_ttl,
            ctx: ctx.clone(),
        });
        identity.register_metrics(&metrics)?;
        let settings = Settings::new(ctx.clone(), cipher.clone());
        Ok(Self {
            db,
            net: net.clone(),
            ctx: ctx.clone(),
            started,
            metrics,
            background,
            bus,
            audit,
            cipher,
            settings,
            tokens,
            identity,
            node: post.node.clone(),
        })
    }

    /// Who judges callers that change what gives power.
    fn acting(&self) -> Arc<dyn Acting> {
        Arc::new(self.identity.clone())
    }

    fn torrents(
        &self,
        config: &Config,
        kinds: Arc<dyn EngineKinds>,
        hub: &Hub,
        book: &Arc<RuleBook>,
    ) -> Result<TorrentsDeps, StartError> {
        Ok(TorrentsDeps {
            db: self.db.clone(),
            kinds,
            net: self.net.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            cipher: self.cipher.clone(),
            settings: self.settings.clone(),
            hub: hub.clone(),
            ctx: self.ctx.clone(),
            file_roots: config.file_roots.clone(),
            own: own_places(config)?,
            background: self.background.clone(),
            metrics: self.metrics.clone(),
            watch: book.clone(),
        })
    }

    fn files(
        &self,
        config: &Config,
        secrets: &Secrets,
        torrents: &Arc<Torrents>,
        jobs: &Jobs,
        hub: &Hub,
    ) -> Result<FilesDeps, StartError> {
        Ok(FilesDeps {
            db: self.db.clone(),
            jobs: jobs.clone(),
            settings: self.settings.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            hub: hub.clone(),
            ctx: self.ctx.clone(),
            payloads: torrents.clone(),
            holders: Arc::new(self.identity.clone()),
            signing: secrets.jwt_access.clone(),
            cors_origins: config.cors_origins.clone(),
            file_roots: config.file_roots.clone(),
            own: own_places(config)?,
        })
    }

    /// The rules, with what waits to be run for them; nothing begins yet.
    async fn automation(
        &self,
        actions: Arc<dyn Actions>,
        torrents: &Arc<Torrents>,
        book: Arc<RuleBook>,
    ) -> Result<Arc<Automation>, StartError> {
        let deps = AutomationDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            actions,
            torrents: torrents.clone(),
            book,
            metrics: self.metrics.clone(),
        };
        Automation::start(deps).await.map_err(StartError::Automation)
    }

    /// The events that consumers must not miss, stored from now on.
    async fn outbox(&self) -> Result<Outbox, StartError> {
        let metrics = OutboxMetrics::new(&self.metrics)?;
        Ok(Outbox::open(&self.db, &self.bus, &self.ctx, metrics, Patience::STANDARD).await?)
    }

    fn hub(&self, config: &Config) -> Hub {
        let hub_config = HubConfig {
            cors_origins: config.cors_origins.clone(),
            token_ttl: config.access_ttl,
            ..HubConfig::default()
        };
        Hub::new(hub_config, self.tokens.clone(), self.ctx.clone())
    }

    /// The jobs, not yet begun.
    fn jobs(&self, hub: &Hub) -> Result<Jobs, StartError> {
        Ok(Jobs::new(JobsDeps {
            db: self.db.clone(),
            ctx: self.ctx.clone(),
            hub: hub.clone(),
            audit: self.audit.clone(),
            settings: self.settings.clone(),
            background: self.background.clone(),
            metrics: self.metrics.clone(),
            version: VERSION,
            pace: JobPace::default(),
        })?)
    }

    /// What administrators enter for plugins.
    fn configurations(&self) -> PluginConfigurations {
        PluginConfigurations::new(self.cipher.clone(), self.ctx.clone())
    }

    /// Starts the watches and the check for updates, and shows what they and everybody else count.
    fn system(
        &self,
        config: &Config,
        plugins: &Arc<PluginHost>,
        torrents: &Arc<Torrents>,
        hub: &Hub,
    ) -> Result<System, StartError> {
        let build = qm_system::build!();
        let disks = Disks::new(&config.file_roots);
        let sources = Sources {
            db: self.db.clone(),
            bus: self.bus.clone(),
            hub: hub.clone(),
            plugins: plugins.clone(),
            build,
            started: self.started,
        };
        sources.register(&self.metrics)?;
        let watches = Watches {
            disks: disks.clone(),
            engines: torrents.clone(),
            db: self.db.clone(),
            ctx: self.ctx.clone(),
        };
        watches.start(&self.background);
        let updates = Updates::new(UpdateDeps {
            db: self.db.clone(),
            settings: self.settings.clone(),
            audit: self.audit.clone(),
            acting: self.acting(),
            net: self.net.clone(),
            ctx: self.ctx.clone(),
            url: config.update_check_url.clone(),
            current: build.version,
        });
        updates.start(&self.background);
        Ok(System {
            db: self.db.clone(),
            health: Health {
                engines: torrents.clone(),
                plugins: plugins.clone(),
                disks,
                sealed: areas::sealed(&self.db, &self.cipher, &self.audit),
                started: self.started,
            },
            acting: self.acting(),
            audit: self.audit.clone(),
            trail: AuditTrail::new(self.db.clone(), self.ctx.clone()),
            settings: self.settings.clone(),
            modules: areas::modules(),
            context_actions: areas::context_actions(),
            environment: config.environment.clone().into(),
            plugins: plugins.clone(),
            configurations: self.configurations(),
            ctx: self.ctx.clone(),
            product: PRODUCT.into(),
            build,
            started: self.started,
            updates,
            metrics: self.metrics.clone(),
            node: self.node.clone(),
        })
    }
}

impl App {
    pub async fn build(parts: AppParts) -> Result<Self, StartError> {
        let AppParts {
            config,
            secrets,
            ctx,
            net,
            post,
            listener,
            brought,
            compiler,
            limits,
            passwords,
        } = parts;
        // Whatever it sends or changes outside the database, it may only while it is the active one.
        let net = net.under(post.mandate.clone());
        let ground = Ground::lay(&config, &secrets, &post, &net, &passwords, &ctx)?;
        let db = ground.db.clone();
        let outbox = ground.outbox().await?;
        // None waits for another: one reads the database, the others files.
        let (seeded, plugins, authorities) = tokio::join!(
            seed(&db, &ground.identity, &config.admin, &ground.settings),
            start_plugins(&config, compiler, limits, &net, &ground),
            net.has_authorities(),
        );
        authorities?;
        let (seeded, plugins) = (seeded?, plugins?);
        let hub = ground.hub(&config);
        let kinds = brought.kinds.unwrap_or_else(|| plugins.engine_kinds());
        // Before the first tick: what happens to a torrent meanwhile is seen by that.
        let book = RuleBook::open(db.clone()).await?;
        let torrents = Torrents::start(ground.torrents(&config, kinds, &hub, &book)?)
            .await
            .map_err(StartError::Engines)?;
        let jobs = ground.jobs(&hub)?;
        let files = start_files(ground.files(&config, &secrets, &torrents, &jobs, &hub)?).await?;
        let mail = ground.mail();
        introduce(&torrents, &files, &mail, &plugins);
        let titledb = ground.titledb(&config, &jobs, &hub);
        let (shows, rss) = ground.shows_and_rss(&torrents, &titledb, &hub);
        let others = brought.actions.unwrap_or_else(|| plugins.actions());
        let actions = Arc::new(HouseFirst::new(others));
        actions.add(&rss);
        let automation = ground.automation(actions.clone(), &torrents, book).await?;
        let outside = ground.outside(&plugins, &jobs, (&torrents, &files), &titledb, &hub);
        let media = ground.media(&config, &plugins, &jobs, &automation, &actions, outside)?;
        let channels = brought.channels.unwrap_or_else(|| plugins.channels());
        let notifications = ground.notifications(channels, &hub, &actions)?;
        let mut areas = vec![
            qm_system::area(ground.system(&config, plugins.host(), &torrents, &hub)?),
            qm_identity::area(&ground.identity, &hub),
            qm_torrents::area(&torrents),
            qm_files::area(&files),
            qm_jobs::area(&jobs),
            qm_automation::area(&automation),
            qm_notifications::area(&notifications),
            qm_rss::area(&rss),
            qm_mail::area(&mail),
            qm_indexers::area(&ground.indexers(&plugins)),
            qm_shows::area(&shows),
            qm_titledb::area(&titledb),
        ];
        areas.extend(media);
        let areas = Areas::new(areas);
        let routes = areas.routes.mount(ws_router(hub.clone()));
        let web = guarded(web_config(&config, &ground.metrics), &post);
        let docs = !matches!(web.docs, Docs::Hidden);
        let router = qm_web::finish(routes, web, ground.tokens.clone(), ctx);
        let front = Front::new(&config, listener, router, docs)?;
        let consumers = brought.consumers.into_iter().chain(areas.consumers).collect();
        outbox.start(consumers, &ground.background).await?;
        // Every area has registered its types by now, and none has begun a job that would be taken for one that was left.
        jobs.start().await.map_err(StartError::Jobs)?;
        for start in areas.loops {
            start(&ground.background);
        }
        let with_name = |password| (config.admin.username, password);
        let first_admin = seeded.generated_password.map(with_name);
        Ok(Self {
            front,
            post,
            first_admin,
            db,
            identity: ground.identity,
            tokens: ground.tokens,
            bus: ground.bus,
            hub,
            plugins,
            torrents,
            files,
            jobs,
            endings: areas.endings,
            background: ground.background,
        })
    }

    /// Where it listens; with `PORT=0` the port that was free.
    pub fn address(&self) -> SocketAddr {
        self.front.address
    }

    /// Whether `/api/docs` is served.
    pub fn has_docs(&self) -> bool {
        self.front.docs
    }

    /// Name and generated password of the administrator this start created, to be shown once.
    pub fn first_admin(&self) -> Option<(&str, &Secret)> {
        self.first_admin
            .as_ref()
            .map(|(username, password)| (username.as_str(), password))
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn tokens(&self) -> &Arc<TokenService> {
        &self.tokens
    }

    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    pub fn plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    pub fn torrents(&self) -> &Arc<Torrents> {
        &self.torrents
    }

    pub fn files(&self) -> &Arc<Files> {
        &self.files
    }

    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Answers requests until `until` ends, then ends in order: realtime clients are told to go, running requests
    /// finish, file operations give up, jobs end or are interrupted, loops stop, engines store and close, another node may
    /// take over, the database is closed.
    pub async fn run(self, until: impl Future<Output = ()>) -> Ending {
        let succession = self.post.succession();
        let (hub, endings) = (self.hub.clone(), self.endings.clone());
        tokio::select! {
            () = self.serve(until) => Ending::Asked,
            () = succession.happened() => {
                tracing::error!("another node has taken over: this process ends, and stands by when it is started again");
                // It is killed rather than stopped: all it could still do is what another one does by now.
                hub.shutdown();
                endings.stop();
                tokio::time::sleep(LAST_WORDS).await;
                Ending::Succeeded
            }
        }
    }

    async fn serve(self, until: impl Future<Output = ()>) {
        let Self {
            front,
            post,
            db,
            hub,
            plugins,
            endings,
            background,
            ..
        } = self;
        let until = async {
            until.await;
            hub.shutdown();
            endings.stop();
        };
        let limits = ConnectionLimits {
            all: descriptors::connections(),
            proxied: front.proxied,
        };
        qm_web::serve(front.listener, front.router, limits, until).await;
        endings.settle().await;
        background.shutdown().await;
        endings.close().await;
        plugins.shutdown().await;
        post.give_back().await;
        db.close().await;
    }
}

/// What every start makes sure of: permissions, roles, the first administrator, default settings.
async fn seed(
    db: &Db,
    identity: &Identity,
    admin: &FirstAdmin,
    settings: &Settings,
) -> Result<Seeded, StartError> {
    let seeded = identity.seed(admin).await.map_err(|error| match error {
        IdentityError::EmailTaken => StartError::AdminEmailTaken {
            username: admin.username.clone(),
            email: admin.email.clone(),
        },
        other => StartError::Accounts(other),
    })?;
    let mut tx = db.begin_write().await?;
    settings.seed_defaults(&mut tx, PRODUCT).await?;
    tx.commit().await?;
    Ok(seeded)
}

/// The file manager, with what a crash left open settled.
async fn start_files(deps: FilesDeps) -> Result<Arc<Files>, StartError> {
    let files = Files::new(deps);
    files.recover().await.map_err(StartError::Files)?;
    Ok(files)
}

/// Hands torrents and plugins what was made after them: who moves data, who touches torrents, who sends mail.
fn introduce(torrents: &Arc<Torrents>, files: &Arc<Files>, mail: &Arc<Mail>, plugins: &PluginHost) {
    let mover: Arc<dyn DataMover> = files.clone();
    torrents.use_mover(&mover);
    let hands: Arc<dyn TorrentHands> = torrents.clone();
    plugins.use_hands(&hands);
    plugins.use_mailer(mail.clone());
}

async fn start_plugins(
    config: &Config,
    compiler: Compiler,
    limits: Limits,
    net: &Net,
    ground: &Ground,
) -> Result<Arc<Plugins>, StartError> {
    let (db, ctx) = (&ground.db, &ground.ctx);
    let kept = Kept {
        pins: Arc::new(PluginPins::new(db.clone(), ctx.clone())),
        values: Arc::new(PluginValues::new(db.clone(), ground.configurations())),
    };
    let plugins = plugins_config(config, compiler, limits, net.clone(), kept);
    Ok(Plugins::start(plugins, ctx.clone()).await?)
}

/// With the question who is active, which each request asks first.
fn guarded(web: WebConfig, post: &Post) -> WebConfig {
    WebConfig {
        doorkeeper: Some(qm_system::doorkeeper(&post.node)),
        ..web
    }
}

pub(crate) fn web_config(config: &Config, metrics: &Registry) -> WebConfig {
    let described = WebConfig {
        cors_origins: config.cors_origins.clone(),
        trusted_proxies: config.trusted_proxies,
        throttle_limit: config.throttle_limit,
        docs: Docs::Hidden,
        product: PRODUCT.to_owned(),
        version: VERSION.to_owned(),
        metrics: metrics.clone(),
        doorkeeper: None,
    };
    let later = described.clone();
    WebConfig {
        docs: if config.production {
            Docs::Hidden
        } else {
            Docs::Later(Arc::new(move || api::document_with(&later)))
        },
        ..described
    }
}
