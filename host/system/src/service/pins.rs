//! Pins of plugin ids to files, in the database: servers that share it agree, and a restart changes nothing.
//!
//! Invariant: an id is pinned to another file only in a transaction that checks an administrator and writes
//! the audit row.

use std::collections::HashMap;

use async_trait::async_trait;
use qm_db::{Changes, Db, DbError, Tx};
use qm_kernel::Ctx;
use qm_plugin_host::{Granted, Pin, PinError, Pins};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use crate::repo::pins as repo;

/// Pins of one database.
pub struct PluginPins {
    db: Db,
    ctx: Ctx,
    /// All pins and grants at the last read, valid until the database is written.
    known: Mutex<Known>,
}

struct Known {
    changes: Changes,
    facts: Facts,
}

#[derive(Default)]
struct Facts {
    pins: HashMap<String, Pin>,
    grants: HashMap<String, Granted>,
}

impl PluginPins {
    pub fn new(db: Db, ctx: Ctx) -> Self {
        let known = Known {
            changes: db.changes(),
            facts: Facts::default(),
        };
        Self {
            db,
            ctx,
            known: Mutex::new(known),
        }
    }

    async fn find_or_pin(&self, id: &str, file: &str) -> Result<Pin, DbError> {
        let pin = |(file, at)| Pin { file, at };
        // The usual case is a read, without a write transaction.
        let mut tx = self.db.begin_read().await?;
        let found = repo::pin_of(&mut tx, id).await?;
        drop(tx);
        if let Some(found) = found {
            return Ok(pin(found));
        }
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        repo::pin(&mut tx, id, file, now).await?;
        // Another server may have been faster.
        let found = repo::pin_of(&mut tx, id).await?;
        tx.commit().await?;
        Ok(pin(found.unwrap_or_else(|| (file.to_owned(), now.ms()))))
    }

    /// The cached pins and grants, read again if the database was written since.
    async fn known(&self) -> Result<MappedMutexGuard<'_, Facts>, DbError> {
        let mut known = self.known.lock().await;
        if known.changes.any() {
            match self.read().await {
                Ok(facts) => known.facts = facts,
                Err(error) => {
                    known.changes.forget();
                    return Err(error);
                }
            }
        }
        Ok(MutexGuard::map(known, |known| &mut known.facts))
    }

    async fn read(&self) -> Result<Facts, DbError> {
        let mut tx = self.db.begin_read().await?;
        let pins = repo::pins(&mut tx).await?.into_iter();
        let mut grants: HashMap<String, Granted> = HashMap::new();
        for (id, host) in repo::grants(&mut tx).await? {
            grants.entry(id).or_default().hosts.push(host);
        }
        for (id, capability) in repo::capabilities(&mut tx).await? {
            grants.entry(id).or_default().capabilities.push(capability);
        }
        Ok(Facts {
            pins: pins.map(|(id, file, at)| (id, Pin { file, at })).collect(),
            grants,
        })
    }
}

fn unknown(error: DbError) -> PinError {
    PinError(error.to_string())
}

#[async_trait]
impl Pins for PluginPins {
    async fn claim(&self, id: &str, file: &str) -> Result<Pin, PinError> {
        self.find_or_pin(id, file).await.map_err(unknown)
    }

    async fn all(&self) -> Result<HashMap<String, Pin>, PinError> {
        let known = self.known().await.map_err(unknown)?;
        Ok(known.pins.clone())
    }

    async fn grants(&self) -> Result<HashMap<String, Granted>, PinError> {
        let known = self.known().await.map_err(unknown)?;
        Ok(known.grants.clone())
    }
}

/// Pins `id` to `file`, without the grants of the former file. `false` when the id was never pinned.
pub async fn give(tx: &mut Tx, ctx: &Ctx, id: &str, file: &str) -> Result<bool, DbError> {
    let is_given = repo::give(tx, id, file, ctx.now()).await?;
    // They were granted for the code of the other file.
    repo::ungrant(tx, id).await?;
    Ok(is_given)
}

/// Replaces the grants of the plugin `id`.
pub async fn grant(tx: &mut Tx, ctx: &Ctx, id: &str, granted: &Granted) -> Result<(), DbError> {
    repo::ungrant(tx, id).await?;
    for host in &granted.hosts {
        repo::grant(tx, id, host, ctx.now()).await?;
    }
    for capability in &granted.capabilities {
        repo::allow(tx, id, capability, ctx.now()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

    use super::*;

    qm_db::db_test! {
        async fn the_first_file_keeps_an_id_until_it_is_given_away(db: Db) {
            let (one, other) = (PluginPins::new(db.clone(), Ctx::system()), PluginPins::new(db.clone(), Ctx::system()));
            let (a, b) = tokio::join!(one.claim("engine", "a.wasm"), other.claim("engine", "b.wasm"));
            let first = a.unwrap();
            assert_eq!(first, b.unwrap(), "two servers agree");
            assert_eq!(other.claim("engine", "c.wasm").await.unwrap(), first);
            let mut tx = db.begin_write().await.unwrap();
            assert!(give(&mut tx, &Ctx::system(), "engine", "c.wasm").await.unwrap());
            assert!(!give(&mut tx, &Ctx::system(), "nobody", "c.wasm").await.unwrap());
            tx.commit().await.unwrap();
            let given = one.claim("engine", "a.wasm").await.unwrap();
            assert_eq!(given.file, "c.wasm");
            assert_eq!(one.all().await.unwrap(), HashMap::from([("engine".to_owned(), given)]));
        }
    }
}
