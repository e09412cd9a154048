//! The wired service: every area with what it needs, ready to answer.
//!
//! Bounds: a shutdown lets running requests end (ten seconds, see `qm_web::serve`) and then each area ([`crate::areas`]).

mod foundation;
mod offers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use prometheus::Registry;
use qm_automation::RuleBook;
use qm_db::Db;
use qm_files::Files;
use qm_identity::{FirstAdmin, HashCost, Identity, IdentityError, Pace, Seeded, TokenService};
use qm_jobs::Jobs;
use qm_kernel::{Ctx, Secret};
use qm_net::Net;
use qm_platform::area::AreaError;
use qm_platform::outbox::Consumer;
use qm_platform::{Background, Bus, Ground, Ports, Settings};
use qm_plugin_host::{Compiler, Limits};
use qm_plugin_roles::Plugins;
use qm_ports::action::Actions;
use qm_ports::channel::Channels;
use qm_ports::engine::EngineKinds;
use qm_ports::rules::RuleWatch;
use qm_realtime::{Hub, ws_router};
use qm_system::{PluginPins, PluginValues};
use qm_torrents::Torrents;
use qm_web::{ConnectionLimits, Docs, WebConfig};
use tokio::net::TcpListener;

use crate::areas::{Areas, Endings};
use crate::config::Config;
use crate::failure::StartError;
use crate::node::Post;
use crate::plugins::{Kept, plugins_config};
use crate::secrets::Secrets;
use crate::{PRODUCT, VERSION, api, descriptors};
use foundation::{Foundation, configurations};
use offers::{introduce, offer_config, offer_plugins};

/// Time in which sockets of a server that was succeeded are told so.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Parts from which the service is wired. The start makes them from the configuration; a test brings its own.
pub struct AppParts {
    pub config: Config,
    pub secrets: Secrets,
    pub ctx: Ctx,
    pub net: Net,
    /// Place of this server among those of its database, which is open and migrated.
    pub post: Post,
    /// Bound already; connections wait in it until [`App::run`].
    pub listener: TcpListener,
    /// Parts that a test brings; empty otherwise.
    pub brought: Brought,
    /// Compiler of plugins.
    pub compiler: Compiler,
    /// Bounds on plugins.
    pub limits: Limits,
    pub passwords: Passwords,
}

/// Cost and pace of password checks.
pub struct Passwords {
    pub hash_cost: HashCost,
    /// Pause after wrong passwords and codes.
    pub guesses: Pace,
}

/// Parts that a test adds, or brings instead of installed plugins.
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

/// Reason why the service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was asked to end.
    Asked,
    /// Another server on its database is active now. Unfinished work was left as it was.
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

/// Listener and router, with facts for the start message.
struct Front {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    /// True if `/api/docs` is among the routes.
    docs: bool,
    /// True if a trusted proxy stands in front.
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
        // Effects outside of the database are allowed only while this server is the active one.
        let net = net.under(post.mandate.clone());
        let made = Foundation::lay(&config, &secrets, &post, &passwords, &ctx)?;
        let (ground, db) = (&made.ground, made.ground.db.clone());
        let outbox = made.outbox().await?;
        // These three do not wait for each other: one reads the database, the others files.
        let (seeded, plugins, authorities) = tokio::join!(
            seed(&db, &made.identity, &config.admin, &ground.settings),
            start_plugins(&config, compiler, limits, &net, ground),
            net.has_authorities(),
        );
        authorities?;
        let (seeded, plugins) = (seeded?, plugins?);
        let hub = made.hub(&config);
        let mut ports = Ports::default();
        made.offer(&mut ports, &hub, &net);
        offer_config(&mut ports, &config, &secrets)?;
        ports.offer(crate::areas::notifications());
        offer_plugins(
            &mut ports,
            &plugins,
            brought.kinds,
            brought.actions,
            brought.channels,
        );
        // Opened before the first tick, which sees changes of torrents from now on.
        let book = RuleBook::open(db.clone(), ground.settings.clone()).await?;
        ports.offer::<Arc<dyn RuleWatch>>(book.clone());
        ports.offer(book);
        ports.offer(made.system(&config, &post, plugins.host()));
        let areas = Areas::make(ground, &mut ports).await?;
        introduce(&ports, &plugins)?;
        let jobs = ports.get::<Jobs>()?;
        let routes = areas.routes.mount(ws_router(hub.clone()));
        let web = guarded(web_config(&config, &ground.metrics), &post);
        let docs = !matches!(web.docs, Docs::Hidden);
        let router = qm_web::finish(routes, web, made.tokens.clone(), ctx);
        let front = Front::new(&config, listener, router, docs)?;
        let consumers = brought.consumers.into_iter().chain(areas.consumers).collect();
        outbox.start(consumers, &ground.background).await?;
        // Every area has registered its types by now, and none has begun a job that would be taken for one that was left.
        let begun = jobs.start().await;
        begun.map_err(AreaError::describe("cannot settle the jobs an earlier run left"))?;
        for (start, background) in areas.loops {
            start(&background);
        }
        let with_name = |password| (config.admin.username, password);
        let first_admin = seeded.generated_password.map(with_name);
        Ok(Self {
            front,
            post,
            first_admin,
            torrents: ports.get()?,
            files: ports.get()?,
            db,
            identity: made.identity,
            tokens: made.tokens,
            bus: made.bus,
            hub,
            plugins,
            jobs,
            endings: areas.endings,
            background: made.ground.background,
        })
    }

    /// Address on which it listens; with `PORT=0`, with the port that was free.
    pub fn address(&self) -> SocketAddr {
        self.front.address
    }

    /// True if `/api/docs` is served.
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
                // No orderly end: the other node does all the work already.
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

/// Makes sure at every start that permissions, roles, the first administrator and default settings exist.
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
        values: Arc::new(PluginValues::new(db.clone(), configurations(ground))),
    };
    let plugins = plugins_config(config, compiler, limits, net.clone(), kept);
    Ok(Plugins::start(plugins, ctx.clone()).await?)
}

/// Adds the check that this server is the active one, which each request makes first.
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
