//! Use cases of this area.

mod actions;
mod ask;
mod health;
mod keep;

use std::sync::Arc;

use qm_db::{Db, Tx};
use qm_jobs::Jobs;
use qm_kernel::{Caller, Ctx, Permission};
use qm_platform::{Acting, Actor, Audit, Cipher, Ground};
use qm_ports::media_server::MediaServerKinds;
use tokio::sync::Semaphore;

use crate::error::MediaServersError;
use crate::model::Integration;
use crate::repo;

/// Number of media servers asked at a time.
pub const AT_ONCE: usize = 4;
/// Permission for all operations of the area.
const NEEDED: Permission = Permission::MediaManagerManageIntegrations;

/// Dependencies of this area, supplied by the server.
pub struct IntegrationsDeps {
    pub ground: Ground,
    pub kinds: Arc<dyn MediaServerKinds>,
    pub jobs: Jobs,
}

/// All connected media servers.
pub struct Integrations {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    acting: Arc<dyn Acting>,
    cipher: Cipher,
    kinds: Arc<dyn MediaServerKinds>,
    jobs: Jobs,
    /// Limit on concurrent requests to servers.
    asking: Semaphore,
}

impl Integrations {
    /// Creates the area and registers its job type; nothing runs before the jobs start.
    pub fn new(deps: IntegrationsDeps) -> Arc<Self> {
        let servers = Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            cipher: deps.ground.cipher,
            kinds: deps.kinds,
            jobs: deps.jobs,
            asking: Semaphore::new(AT_ONCE),
        });
        servers.jobs.register(actions::job_type(&servers));
        servers
    }

    async fn stored(&self, id: &str) -> Result<Integration, MediaServersError> {
        let found = repo::integrations::find(&mut self.db.begin_read().await?, id).await?;
        found.ok_or(MediaServersError::NoSuchIntegration)
    }

    async fn judge(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, MediaServersError> {
        Ok(self.acting.judge(tx, caller.principal, &[NEEDED]).await?)
    }
}
