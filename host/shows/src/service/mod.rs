//! Use cases of the area. The server constructs [`Shows`].

mod keep;
mod lookup;
mod refresh;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use qm_db::Db;
use qm_kernel::Ctx;
use qm_platform::{Audit, Ground};
use qm_ports::shows::{PATIENCE_SECS, ShowDetails, ShowError, ShowHit, ShowProvider, ShowRules};
use qm_realtime::Hub;

/// Time limit of a provider's answer.
const PATIENCE: Duration = Duration::from_secs(PATIENCE_SECS);

/// Dependencies of the area, supplied by the server.
pub struct ShowsDeps {
    pub ground: Ground,
    pub hub: Hub,
    /// In the order in which they are asked.
    pub providers: Vec<Arc<dyn ShowProvider>>,
}

/// Shows and their status.
pub struct Shows {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    hub: Hub,
    providers: Vec<Arc<dyn ShowProvider>>,
    rules: OnceLock<Weak<dyn ShowRules>>,
}

impl Shows {
    pub fn new(deps: ShowsDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            hub: deps.hub,
            providers: deps.providers,
            rules: OnceLock::new(),
        })
    }

    /// Sets the receiver of changes that owns the rules; only the first call counts. The owner may depend on
    /// this area.
    pub fn use_rules(&self, rules: &Arc<dyn ShowRules>) {
        let _ = self.rules.set(Arc::downgrade(rules));
    }

    fn rules(&self) -> Option<Arc<dyn ShowRules>> {
        self.rules.get().and_then(Weak::upgrade)
    }

    /// The provider with this id, if it is ready.
    async fn provider(&self, id: &str) -> Option<&Arc<dyn ShowProvider>> {
        let provider = self.providers.iter().find(|provider| provider.id() == id)?;
        provider.is_ready().await.then_some(provider)
    }
}

async fn search(
    provider: &dyn ShowProvider,
    title: &str,
    year: Option<u32>,
) -> Result<Vec<ShowHit>, ShowError> {
    within(provider, provider.search(title, year)).await
}

async fn details(provider: &dyn ShowProvider, id: &str) -> Result<Option<ShowDetails>, ShowError> {
    within(provider, provider.details(id)).await
}

async fn within<T>(
    provider: &dyn ShowProvider,
    answer: impl Future<Output = Result<T, ShowError>>,
) -> Result<T, ShowError> {
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| {
        Err(ShowError(format!(
            "{} did not answer within {PATIENCE_SECS} s",
            provider.id()
        )))
    })
}
