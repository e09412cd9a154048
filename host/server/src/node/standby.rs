//! Work of a standby while it waits: it reports its health and the active node, and has the plugins compiled.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use prometheus::Registry;
use qm_db::Holder;
use qm_identity::TokenService;
use qm_kernel::{Mandate, as_error};
use qm_platform::Node;
use qm_plugin_host::{Limits, PinsInMemory, PluginHost, PluginHostConfig, ValuesInMemory};
use qm_system::{Aside, doorkeeper, standby_routes};
use qm_web::{ConnectionLimits, Docs, WebConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Candidate;
use crate::app::web_config;
use crate::cli::say;
use crate::failure::StartError;
use crate::plugins::{Kept, plugins_config};
use crate::{PRODUCT, VERSION, descriptors};

/// Tasks that run while a server waits.
pub struct Standby {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    /// Task that loads the plugins, so that they are compiled. They have no network, and their state is dropped.
    warming: JoinHandle<Option<Arc<PluginHost>>>,
}

impl Standby {
    pub fn begin(candidate: &Candidate<'_>, node: &Node) -> Result<Self, StartError> {
        let (stop, stopped) = oneshot::channel::<()>();
        let config = candidate.config;
        let metrics = Registry::new();
        node.register(&metrics)?;
        let tokens = TokenService::new(
            &candidate.secrets.jwt_access,
            config.access_ttl,
            candidate.ctx.clone(),
        );
        let web = WebConfig {
            docs: Docs::Hidden,
            doorkeeper: Some(doorkeeper(node)),
            ..web_config(config, &metrics)
        };
        let state = Aside {
            db: candidate.db.clone(),
            node: node.clone(),
            started: Instant::now(),
            metrics,
        };
        let routes = standby_routes().with_state(state);
        let router = qm_web::finish(routes, web, Arc::new(tokens), candidate.ctx.clone());
        let limits = ConnectionLimits {
            all: descriptors::connections(),
            proxied: config.trusted_proxies > 0,
        };
        let listener =
            twin(candidate.listener).map_err(|source| StartError::listen(config.listen, source))?;
        let until = async move {
            // A dropped sender means the same.
            let _ = stopped.await;
        };
        Ok(Self {
            stop,
            serving: tokio::spawn(qm_web::serve(listener, router, limits, until)),
            warming: tokio::spawn(warm(plugins(candidate), candidate.ctx.clone())),
        })
    }

    /// Ends the standby. Waiting connections stay: the socket is also the active server's.
    pub async fn end(self) {
        // This fails only if the task panicked, and then nothing is left to stop.
        let _ = self.stop.send(());
        if self.warming.is_finished() {
            if let Ok(Some(plugins)) = self.warming.await {
                plugins.shutdown().await;
            }
        } else {
            self.warming.abort();
        }
        // Open requests are short, and go on beside the start.
        drop(self.serving);
    }
}

fn plugins(candidate: &Candidate<'_>) -> PluginHostConfig {
    let kept = Kept {
        pins: Arc::new(PinsInMemory::default()),
        values: Arc::new(ValuesInMemory::default()),
    };
    let net = candidate.net.clone().under(Mandate::none());
    plugins_config(
        candidate.config,
        candidate.compiler.clone(),
        Limits::default(),
        net,
        kept,
    )
}

async fn warm(config: PluginHostConfig, ctx: qm_kernel::Ctx) -> Option<Arc<PluginHost>> {
    match PluginHost::start(config, ctx, qm_plugin_roles::ALL).await {
        Ok(plugins) => {
            plugins.settled().await;
            Some(plugins)
        }
        Err(error) => {
            let error = as_error(&error);
            tracing::warn!(error, "plugins are not compiled before they are needed");
            None
        }
    }
}

/// Another handle to the same socket.
fn twin(listener: &TcpListener) -> std::io::Result<TcpListener> {
    use std::os::fd::AsFd as _;

    let twin = std::net::TcpListener::from(listener.as_fd().try_clone_to_owned()?);
    TcpListener::from_std(twin)
}

/// Prints the address of a standby, and the active node, for the person who started it.
pub fn greet(address: SocketAddr, active: &Holder) {
    say(format_args!(
        "{PRODUCT} {VERSION} is listening on http://{address}, standing by: the node `{}` ({}) is active",
        active.name, active.address
    ));
}
