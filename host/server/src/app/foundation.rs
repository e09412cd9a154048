//! The foundation: everything that is made before the first area.

use std::sync::Arc;
use std::time::Instant;

use qm_identity::{Identity, IdentityDeps, TokenService};
use qm_kernel::Ctx;
use qm_net::Net;
use qm_platform::outbox::{Outbox, OutboxMetrics, Patience};
use qm_platform::{Audit, Bus, Ground, People, Ports};
use qm_plugin_host::PluginHost;
use qm_ports::Holders;
use qm_realtime::{Hub, HubConfig};
use qm_system::{PluginConfigurations, SystemParts};

use super::Passwords;
use crate::PRODUCT;
use crate::areas;
use crate::config::Config;
use crate::failure::StartError;
use crate::feeds::GuardedFeeds;
use crate::node::Post;
use crate::secrets::Secrets;

/// The ground of every area, with what it is made from.
pub(super) struct Foundation {
    pub ground: Ground,
    pub bus: Bus,
    pub tokens: Arc<TokenService>,
    pub identity: Identity,
    /// Start of the process.
    started: Instant,
}

impl Foundation {
    pub fn lay(
        config: &Config,
        secrets: &Secrets,
        post: &Post,
        passwords: &Passwords,
        ctx: &Ctx,
    ) -> Result<Self, StartError> {
        let started = Instant::now();
        let bus = Bus::new(ctx.clone());
        for specs in areas::events() {
            bus.register(specs);
        }
        let db = post.db.clone().telling(Arc::new(bus.clone()));
        let cipher = secrets.cipher(ctx);
        let tokens = TokenService::new(&secrets.jwt_access, config.access_ttl, ctx.clone());
        let tokens = Arc::new(tokens);
        let identity = Identity::new(IdentityDeps {
            db: db.clone(),
            audit: Audit::new(ctx.clone()),
            cipher: cipher.clone(),
            tokens: tokens.clone(),
            hash_cost: passwords.hash_cost,
            pace: passwords.guesses,
            refresh_ttl: config.refresh_ttl,
            ctx: ctx.clone(),
        });
        let ground = Ground::new(db, ctx.clone(), cipher, Arc::new(identity.clone()))?;
        post.node.register(&ground.metrics)?;
        identity.register_metrics(&ground.metrics)?;
        Ok(Self {
            ground,
            bus,
            tokens,
            identity,
            started,
        })
    }

    /// Outbox of the events that consumers must not miss.
    pub async fn outbox(&self) -> Result<Outbox, StartError> {
        let (ground, patience) = (&self.ground, Patience::STANDARD);
        let metrics = OutboxMetrics::new(&ground.metrics)?;
        Ok(Outbox::open(&ground.db, &self.bus, &ground.ctx, metrics, patience).await?)
    }

    pub fn hub(&self, config: &Config) -> Hub {
        let hub_config = HubConfig {
            cors_origins: config.cors_origins.clone(),
            token_ttl: config.access_ttl,
            ..HubConfig::default()
        };
        Hub::new(hub_config, self.tokens.clone(), self.ground.ctx.clone())
    }

    /// Offers accounts, realtime and the network to the areas.
    pub fn offer(&self, ports: &mut Ports, hub: &Hub, net: &Net) {
        let identity = Arc::new(self.identity.clone());
        ports.offer::<Arc<dyn People>>(identity.clone());
        ports.offer::<Arc<dyn Holders>>(identity);
        ports.offer(self.identity.clone());
        ports.offer(hub.clone());
        ports.offer(net.clone());
        ports.offer::<Arc<dyn qm_ports::feed::FeedSource>>(Arc::new(GuardedFeeds::new(net.clone())));
    }

    /// Parts that the routes about the system itself show.
    pub fn system(&self, config: &Config, post: &Post, plugins: &Arc<PluginHost>) -> SystemParts {
        let ground = &self.ground;
        SystemParts {
            plugins: plugins.clone(),
            configurations: configurations(ground),
            bus: self.bus.clone(),
            node: post.node.clone(),
            sealed: areas::sealed(&ground.db, &ground.cipher, &ground.audit),
            modules: areas::modules(),
            context_actions: areas::context_actions(),
            environment: config.environment.clone().into(),
            product: PRODUCT.into(),
            build: qm_system::build!(),
            started: self.started,
            update_url: config.update_check_url.clone(),
        }
    }
}

/// Settings that administrators enter for plugins.
pub(super) fn configurations(ground: &Ground) -> PluginConfigurations {
    PluginConfigurations::new(ground.cipher.clone(), ground.ctx.clone())
}
