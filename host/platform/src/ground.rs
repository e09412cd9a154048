//! The ground: things that every area is given, made once a server.

use std::sync::Arc;

use prometheus::Registry;
use qm_db::Db;
use qm_kernel::Ctx;

use crate::area::AreaSpec;
use crate::{Acting, Audit, Background, Cipher, Settings};

/// Things that every area stands on. Copies share everything.
#[derive(Clone)]
pub struct Ground {
    /// Database of the service; commits on it release events.
    pub db: Db,
    /// Clock and ids.
    pub ctx: Ctx,
    /// Writer of audit rows.
    pub audit: Audit,
    /// Judge of callers who change what gives power.
    pub acting: Arc<dyn Acting>,
    /// Cipher of stored secrets.
    pub cipher: Cipher,
    pub settings: Settings,
    /// Loops that end with the server.
    pub background: Background,
    /// Counters of every area; `GET /api/system/metrics` shows them.
    pub metrics: Registry,
}

impl Ground {
    /// Ground of one area, whose loops are listed as those of its module.
    #[must_use]
    pub fn for_area(&self, area: &AreaSpec) -> Self {
        Self {
            background: self.background.for_module(area.module),
            ..self.clone()
        }
    }

    /// Makes what follows from the arguments: audit, settings, a registry of counters and the background loops.
    ///
    /// # Errors
    /// When the counters of background loops cannot be made.
    pub fn new(db: Db, ctx: Ctx, cipher: Cipher, acting: Arc<dyn Acting>) -> Result<Self, prometheus::Error> {
        let metrics = Registry::new();
        Ok(Self {
            audit: Audit::new(ctx.clone()),
            settings: Settings::new(ctx.clone(), cipher.clone()),
            background: Background::new(&metrics)?,
            metrics,
            db,
            ctx,
            acting,
            cipher,
        })
    }
}
