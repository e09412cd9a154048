//! Checks that all engines answer, for areas that do not know this one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use qm_db::DbError;
use qm_kernel::as_error;
use qm_ports::{EngineProbe, EngineProbes};

use super::Engines;
use crate::dto::engines::HealthView;
use crate::model::engine::missing_provider;
use crate::model::stored::EngineRow;
use crate::repo;
use crate::sync::engine::Engine;
use crate::sync::pulse;

#[async_trait]
impl EngineProbes for Engines {
    async fn probe_all(&self, patience: Duration) -> Vec<EngineProbe> {
        let loaded = self.registry.all();
        let asked = join_all(loaded.iter().map(|engine| self.probe_one(engine, patience)));
        let (mut probes, rows) = tokio::join!(asked, tokio::time::timeout(patience, self.enabled_rows()));
        match rows {
            Ok(Ok(rows)) => {
                let order: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
                let is_loaded = |row: &EngineRow| loaded.iter().any(|engine| *engine.id == *row.id);
                let others = rows.into_iter().filter(|row| !is_loaded(row));
                probes.extend(others.map(|row| self.not_loaded(row)));
                probes.sort_by_key(|probe| order.iter().position(|id| *id == probe.engine_id));
            }
            Ok(Err(error)) => {
                let error = as_error(&error);
                tracing::warn!(error, "engines that are not loaded are not known");
            }
            Err(_) => {
                tracing::warn!("engines that are not loaded are not known: the database does not answer");
            }
        }
        probes
    }
}

impl Engines {
    async fn probe_one(&self, engine: &Arc<Engine>, patience: Duration) -> EngineProbe {
        let name = engine.name();
        let health = pulse::ask(engine, &self.ctx, patience).await.unwrap_or_else(|| {
            let error = format!("{name} did not answer within {} s", patience.as_secs());
            HealthView::offline(error, self.ctx.now())
        });
        shaped(
            engine.id.to_string(),
            name.to_string(),
            engine.kind.clone(),
            health,
        )
    }

    fn not_loaded(&self, row: EngineRow) -> EngineProbe {
        let error = match self.kinds.kind(&row.kind) {
            None => missing_provider(&row.kind),
            Some(_) => format!("{} could not be loaded: its configuration was refused", row.name),
        };
        shaped(
            row.id,
            row.name,
            row.kind,
            HealthView::offline(error, self.ctx.now()),
        )
    }

    async fn enabled_rows(&self) -> Result<Vec<EngineRow>, DbError> {
        let mut tx = self.db.begin_read().await?;
        let mut rows = repo::engines::list(&mut tx).await?;
        rows.retain(|row| row.is_enabled);
        Ok(rows)
    }
}

fn shaped(engine_id: String, name: String, kind: String, health: HealthView) -> EngineProbe {
    let HealthView {
        online,
        latency_ms,
        version,
        error,
        limited: _,
        free_disk_bytes: _,
        checked_at,
    } = health;
    EngineProbe {
        engine_id,
        name,
        kind,
        online,
        latency_ms,
        version,
        error,
        checked_at,
    }
}
