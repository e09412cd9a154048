//! Limits on sharing in memory, for the passes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use crate::model::share::{Effective, Layer, Scope};
use crate::repo::share::Stored;

/// All layers at one moment.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Increases with every change.
    pub version: u64,
    engines: HashMap<String, Arc<Layer>>,
    /// By the name of the category, which is the label of its torrents.
    categories: HashMap<String, Arc<Layer>>,
    /// By engine and hash.
    torrents: HashMap<String, HashMap<String, Arc<Layer>>>,
    /// Ids and names of the categories with limits.
    pub names: Vec<(String, String)>,
}

impl Layers {
    /// True when limits may be in force for a torrent of the engine.
    pub fn concern(&self, engine_id: &str) -> bool {
        !self.categories.is_empty()
            || self.engines.contains_key(engine_id)
            || self.torrents.contains_key(engine_id)
    }

    /// Layers of a torrent, the most specific first.
    pub fn list_for<'a>(
        &'a self,
        engine_id: &str,
        label: Option<&str>,
        hash: &str,
    ) -> impl Iterator<Item = &'a Arc<Layer>> + use<'a> {
        let torrent = self.torrents.get(engine_id).and_then(|all| all.get(hash));
        let category = label.and_then(|label| self.categories.get(label));
        let engine = self.engines.get(engine_id);
        [torrent, category, engine].into_iter().flatten()
    }

    /// Limits in force for a torrent.
    pub fn merge_for(&self, engine_id: &str, label: Option<&str>, hash: &str) -> Effective {
        Effective::merge(self.list_for(engine_id, label, hash))
    }

    /// True when limits are set on the torrent itself.
    pub fn has_torrent(&self, engine_id: &str, hash: &str) -> bool {
        self.torrents
            .get(engine_id)
            .is_some_and(|all| all.contains_key(hash))
    }

    fn add(&mut self, Stored { layer, category }: Stored) {
        let layer = Arc::new(layer);
        match (&layer.scope, category) {
            (Scope::Torrent { engine_id, hash }, _) => {
                let of_engine = self.torrents.entry(engine_id.clone()).or_default();
                of_engine.insert(hash.clone(), layer);
            }
            (Scope::Category(_), Some(name)) => {
                self.categories.insert(name, layer);
            }
            (Scope::Category(_), None) => {}
            (Scope::Engine(engine_id), _) => {
                self.engines.insert(engine_id.clone(), layer);
            }
        }
    }

    fn remove(&mut self, scope: &Scope) {
        match scope {
            Scope::Torrent { engine_id, hash } => {
                if let Some(of_engine) = self.torrents.get_mut(engine_id) {
                    of_engine.remove(hash);
                    if of_engine.is_empty() {
                        self.torrents.remove(engine_id);
                    }
                }
            }
            Scope::Category(_) => self.categories.retain(|_, layer| layer.scope != *scope),
            Scope::Engine(engine_id) => {
                self.engines.remove(engine_id);
            }
        }
    }
}

/// Layers that a change replaces before its request is answered.
#[derive(Default)]
pub struct Book {
    layers: ArcSwap<Layers>,
    /// Serialises reads: an older state must not replace a newer one.
    pub reading: tokio::sync::Mutex<()>,
    /// A change that was stored could not be read.
    stale: AtomicBool,
}

impl Book {
    pub fn layers(&self) -> Arc<Layers> {
        self.layers.load_full()
    }

    /// Has all layers read again, because a change that was stored could not be read.
    pub fn mark_stale(&self) {
        self.stale.store(true, Ordering::SeqCst);
    }

    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::SeqCst)
    }

    pub fn replace(&self, stored: Vec<Stored>, names: Vec<(String, String)>) {
        let mut layers = Layers {
            version: self.layers.load().version + 1,
            names,
            ..Layers::default()
        };
        for layer in stored {
            layers.add(layer);
        }
        self.layers.store(Arc::new(layers));
        self.stale.store(false, Ordering::SeqCst);
    }

    /// Replaces the layer of one scope, or takes it away.
    pub fn change(&self, scope: &Scope, stored: Option<Stored>, names: Vec<(String, String)>) {
        let mut layers = Layers::clone(&self.layers.load());
        layers.version += 1;
        layers.names = names;
        layers.remove(scope);
        if let Some(stored) = stored {
            layers.add(stored);
        }
        self.layers.store(Arc::new(layers));
    }
}
