//! The plugins directory: which files there are, which plugin each provides, and what became of a change.
//!
//! The rules: a file is one plugin id; an id belongs to the file that had it first ([`Pins`]), and any other is listed as
//! conflicting, also when the first is gone, until an administrator accepts it; a newer version of a file is loaded and
//! tried first and swapped in only when it is sound, so a bad file leaves the old one working and shows why.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use qm_lanes::IgnorePoison;
use qm_net::Grants;
use qm_plugin_guest::voice::one_line;
use qm_ports::Settling;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};

use crate::core::blocking::FILES;
use crate::core::intake::Intake;
use crate::core::listing::{active, refused, stem};
use crate::core::load::{Effort, Loaded, Loader, Refusal};
use crate::core::pins::{Granted, Pin, Pins};
use crate::core::role::About;
use crate::core::scan::{Signature, scan};
use crate::core::slot::Slot;
use crate::core::status::{PluginState, PluginStatus};
use crate::error::PluginHostError;

/// The most of an unknown plugin's id that is repeated.
pub(crate) const SHOWN: usize = 64;

/// Everything installed.
pub(crate) struct Catalog {
    dir: PathBuf,
    loader: Loader,
    pins: Arc<dyn Pins>,
    inner: Mutex<Inner>,
    /// Held by whoever changes the catalogue: one change at a time.
    changing: tokio::sync::Mutex<()>,
    /// Read by whoever loads files until they are in the catalogue: kept code that nobody is seen to use may be theirs.
    loading: Arc<RwLock<()>>,
    generation: watch::Sender<u64>,
    intake: Intake,
}

#[derive(Default)]
struct Inner {
    /// The files, by name.
    files: BTreeMap<String, Entry>,
    /// The slots, by plugin id, for as long as there is code or a lane for it.
    slots: HashMap<String, Arc<Slot>>,
    /// Since when each file has had an id, in milliseconds, as the pins were last seen.
    pinned: HashMap<String, i64>,
}

struct Entry {
    /// Signature of the file as it was last read.
    signature: Signature,
    /// SHA-256 of what was last read.
    read: Option<String>,
    outcome: Outcome,
    /// The reason why a newer version was not taken.
    pending: Option<String>,
}

enum Outcome {
    Active(Arc<Slot>),
    Refused(Refusal),
}

impl Catalog {
    /// The files of `dir`, brought to be loaded by [`work`](super::intake::work).
    pub(crate) fn open(
        dir: PathBuf,
        loader: Loader,
        pins: Arc<dyn Pins>,
    ) -> Result<Arc<Self>, PluginHostError> {
        let files = scan(&dir).map_err(|source| PluginHostError::Directory {
            path: dir.clone(),
            source,
        })?;
        let catalog = Self {
            dir,
            loader,
            pins,
            inner: Mutex::default(),
            changing: tokio::sync::Mutex::new(()),
            loading: Arc::default(),
            generation: watch::Sender::new(0),
            intake: Intake::new(),
        };
        catalog.intake.bring(files);
        Ok(Arc::new(catalog))
    }

    pub(crate) fn intake(&self) -> &Intake {
        &self.intake
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn generation(&self) -> &watch::Sender<u64> {
        &self.generation
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().ignore_poison()
    }

    /// The files as they were last read.
    pub(crate) fn signatures(&self) -> BTreeMap<String, Signature> {
        self.inner()
            .files
            .iter()
            .map(|(name, entry)| (name.clone(), entry.signature))
            .collect()
    }

    /// For who loads files, from before the first is read until the last is [settled](Self::settle): no kept code goes
    /// meanwhile. To be given back to [`loaded`](Self::loaded).
    pub(crate) async fn loading(&self) -> OwnedRwLockReadGuard<()> {
        self.loading.clone().read_owned().await
    }

    /// Ends what [`loading`](Self::loading) began: who ends last lets go of kept code that no file needs any more.
    pub(crate) async fn loaded(&self, loading: OwnedRwLockReadGuard<()>) {
        drop(loading);
        self.prune().await;
    }

    /// Loads the file of this name and changes nothing.
    pub(crate) async fn load(&self, name: &str, effort: Effort) -> Result<Loaded, Refusal> {
        self.loader.load(self.dir.join(name), effort).await
    }

    /// Owners of the ids, to be read once for many files. None where they are not known: then each file asks.
    pub(crate) async fn owners(&self) -> HashMap<String, Pin> {
        self.pins.all().await.unwrap_or_default()
    }

    /// Takes in what was loaded of a file that looked like this before it was read. Whose its id is stands in `owners` or
    /// is asked for. False when the file is another by now or gone: then the outcome is dropped, and the watch brings it
    /// again.
    pub(crate) async fn settle(
        &self,
        name: &str,
        signature: Signature,
        loaded: Result<Loaded, Refusal>,
        owners: &HashMap<String, Pin>,
    ) -> bool {
        let _turn = self.changing.lock().await;
        if Signature::read(&self.dir.join(name)).ok() != Some(signature) {
            return false;
        }
        let (loaded, pinned_at) = match self.claimed(name, loaded, owners).await {
            Ok((loaded, pinned_at)) => (Ok(loaded), Some(pinned_at)),
            Err(refusal) => (Err(refusal), None),
        };
        let id = loaded.as_ref().ok().map(|loaded| loaded.about.id.clone());
        let granted = match &loaded {
            // Not known now, they are with the next look at the pins.
            Ok(loaded) if loaded.needs_grants() => self.pins.grants().await.ok(),
            _ => None,
        };
        let freed = self.take_in(name, signature, loaded);
        if let (Some(id), Some(at)) = (id, pinned_at)
            && let Some(slot) = self.slot(&id)
        {
            slot.was_pinned(at);
        }
        if let Some(granted) = granted {
            self.follow_grants(&granted);
        }
        self.after(freed).await;
        true
    }

    /// A plugin whose id belongs to this file, or belongs to it from now on; and since when.
    async fn claimed(
        &self,
        name: &str,
        loaded: Result<Loaded, Refusal>,
        owners: &HashMap<String, Pin>,
    ) -> Result<(Loaded, i64), Refusal> {
        let loaded = loaded?;
        let pin = match owners.get(&loaded.about.id) {
            Some(pin) => Ok(pin.clone()),
            None => self.pins.claim(&loaded.about.id, name).await,
        };
        match pin {
            Ok(pin) if pin.file == name => Ok((loaded, pin.at)),
            Ok(pin) => Err(conflict(&loaded, &pin.file)),
            Err(error) => Err(Refusal {
                facts: loaded.facts,
                id: None,
                state: PluginState::Failed,
                reason: format!("whose id it claims cannot be found out: {error}"),
            }),
        }
    }

    /// Follows what became of the ids elsewhere: an administrator, perhaps on another server, gave one to another file.
    pub(crate) async fn follow_pins(&self) {
        let pins = match self.pins.all().await {
            Ok(pins) => pins,
            // The next look asks again; until then things stay as they are.
            Err(error) => {
                tracing::debug!(%error, "the owners of plugin ids are not known");
                return;
            }
        };
        let _turn = self.changing.lock().await;
        let moved = self.inner().moved(&pins);
        self.inner().note_pins(&pins);
        for (name, file) in &moved.lost {
            tracing::warn!(file = %name, now = %file, "the id of a plugin was given to another file");
            self.give_up(name, file);
        }
        self.intake.bring(moved.won);
        drop(moved.lost);
        // Nothing is read for plugins that ask for nothing, which is most servers.
        if !self.inner().slots.values().any(|slot| slot.needs_grants()) {
            return;
        }
        match self.pins.grants().await {
            Ok(grants) => self.follow_grants(&grants),
            Err(error) => tracing::debug!(%error, "the grants of plugins are not known"),
        }
    }

    /// Gives every plugin that asks for something what was granted to it.
    fn follow_grants(&self, grants: &HashMap<String, Granted>) {
        for (id, slot) in &self.inner().slots {
            if slot.needs_grants() {
                slot.grant(grants.get(id).cloned().unwrap_or_default());
            }
        }
    }

    /// The grant for `id`, in its one form and each word once: all of it something that it asks for.
    pub(crate) fn may_grant(&self, id: &str, wanted: &Granted) -> Result<Granted, PluginHostError> {
        let slot = self.slot(id).ok_or_else(|| self.no_such(id))?;
        let code = slot.code();
        let (declared, asks) = code.as_ref().map_or((&[][..], &[][..]), |code| {
            (&code.about.hosts[..], &code.about.asks[..])
        });
        let not = |reason: String| PluginHostError::NotGrantable {
            id: id.to_owned(),
            reason,
        };
        if code.as_ref().is_some_and(|code| code.first_party) {
            return Err(not(
                "it was built together with this server, which grants it all it asks for".to_owned(),
            ));
        }
        let hosts = wanted.hosts.iter().map(|host| Grants::origin(host));
        let hosts = hosts.collect::<Result<Vec<_>, _>>().map_err(&not)?;
        Ok(Granted {
            hosts: asked_for(hosts, declared).map_err(&not)?,
            capabilities: asked_for(wanted.capabilities.clone(), asks).map_err(&not)?,
        })
    }

    /// The schema of what an administrator configures once for the plugin of this id.
    pub(crate) fn configured_by(&self, id: &str) -> Result<serde_json::Value, PluginHostError> {
        let slot = self.slot(id).ok_or_else(|| self.no_such(id))?;
        let not = |reason: &str| PluginHostError::NotConfigurable {
            id: id.to_owned(),
            reason: reason.to_owned(),
        };
        match slot.code() {
            None => Err(not("its file is not in use")),
            Some(code) if code.role.is_configured_once() => Ok(code.about.config_schema.clone()),
            Some(_) => Err(not("what it serves is configured one by one")),
        }
    }

    /// Takes a plugin out of use whose id belongs to `file` now.
    fn give_up(&self, name: &str, file: &str) {
        let mut inner = self.inner();
        let Some(entry) = inner.files.get_mut(name) else {
            return;
        };
        let Outcome::Active(slot) = &entry.outcome else {
            return;
        };
        let slot = slot.clone();
        let Some(code) = slot.code() else { return };
        entry.outcome = Outcome::Refused(conflict(&code, file));
        entry.pending = None;
        slot.put(None);
        self.changed();
    }

    /// Lets go of kept code that no file needs any more, unless files are being loaded.
    async fn prune(&self) {
        let Ok(_nobody_loads) = self.loading.try_write() else {
            return;
        };
        let used = self.used_hashes();
        let cache = self.loader.cache.clone();
        // Stale files that stay are pruned the next time.
        let _ = FILES.run_for(None, move |_| cache.prune(&used)).await;
    }

    /// The files that are gone from the directory.
    pub(crate) async fn remove(&self, names: Vec<String>) {
        let _turn = self.changing.lock().await;
        for name in names {
            let gone = self.inner().files.remove(&name);
            if let Some(Entry {
                outcome: Outcome::Active(slot),
                ..
            }) = gone
            {
                tracing::info!(file = %name, plugin = %slot.id, "a plugin was removed");
                slot.put(None);
                self.changed();
                self.after(Some(slot.id.clone())).await;
            }
        }
        self.prune().await;
    }

    /// Puts the outcome of a load where it belongs. Returns the id that has become free by it.
    fn take_in(&self, name: &str, signature: Signature, loaded: Result<Loaded, Refusal>) -> Option<String> {
        let mut inner = self.inner();
        let own = match inner.files.get(name) {
            Some(Entry {
                outcome: Outcome::Active(slot),
                ..
            }) => Some(slot.clone()),
            _ => None,
        };
        let refusal = match loaded {
            Ok(loaded) => match inner.holder(&loaded.about.id).filter(|holder| *holder != name) {
                None => return self.activate(&mut inner, name, signature, loaded, own),
                // It gives way at the next look at the pins.
                Some(holder) => conflict(&loaded, holder),
            },
            Err(refusal) => refusal,
        };
        let waits = refusal.state == PluginState::Compiling;
        if waits {
            tracing::info!(file = %name, "a plugin is being compiled");
        } else {
            tracing::warn!(file = %name, reason = %refusal.reason, "a plugin was not taken");
        }
        let read = refusal.facts.sha256.clone();
        let entry = match own {
            Some(slot) => Entry {
                signature,
                read,
                outcome: Outcome::Active(slot),
                pending: Some(refusal.reason),
            },
            None => Entry {
                signature,
                read,
                outcome: Outcome::Refused(refusal),
                pending: None,
            },
        };
        inner.files.insert(name.to_owned(), entry);
        None
    }

    fn activate(
        &self,
        inner: &mut Inner,
        name: &str,
        signature: Signature,
        loaded: Loaded,
        own: Option<Arc<Slot>>,
    ) -> Option<String> {
        let id = loaded.about.id.clone();
        let slot = inner
            .slots
            .entry(id.clone())
            .or_insert_with(|| Slot::new(&id))
            .clone();
        let freed = own.filter(|old| old.id != id);
        if let Some(old) = &freed {
            old.put(None);
        }
        let About { label, version, .. } = &loaded.about;
        tracing::info!(file = %name, plugin = %id, %label, %version, "a plugin is in use");
        let read = loaded.facts.sha256.clone();
        slot.put(Some(Arc::new(loaded)));
        inner.files.insert(
            name.to_owned(),
            Entry {
                signature,
                read,
                outcome: Outcome::Active(slot),
                pending: None,
            },
        );
        self.changed();
        freed.map(|old| old.id.clone())
    }

    /// An id has become free: the first file that waited for it is looked at again, in case that it is the id's owner.
    async fn after(&self, freed: Option<String>) {
        let Some(id) = freed else { return };
        let waiting = self
            .inner()
            .files
            .iter()
            .find_map(|(name, entry)| match &entry.outcome {
                Outcome::Refused(refusal) if refusal.id.as_ref() == Some(&id) => {
                    Some((name.clone(), entry.signature))
                }
                _ => None,
            });
        if let Some((name, signature)) = waiting {
            self.intake.bring([(name, signature)]);
        }
        self.inner()
            .slots
            .retain(|_, slot| slot.code().is_some() || slot.is_used());
    }

    fn changed(&self) {
        self.generation.send_modify(|count| *count += 1);
    }

    /// Hashes of every file that is there, in use or not: what did not pass its trial need not be compiled again to fail again.
    fn used_hashes(&self) -> HashSet<String> {
        let inner = self.inner();
        let code = |slot: &Arc<Slot>| slot.code().and_then(|code| code.facts.sha256.clone());
        let refused = |entry: &Entry| entry.read.clone();
        let refused = inner.files.values().filter_map(refused);
        refused.chain(inner.slots.values().filter_map(code)).collect()
    }

    /// Loads the file of the plugin `id` again, or that of a file named so.
    pub(crate) async fn reload(&self, id: &str) -> Result<PluginStatus, PluginHostError> {
        let name = self.inner().name_of(id);
        let name = name.ok_or_else(|| self.no_such(id))?;
        let path = self.dir.join(&name);
        let signature = Signature::read(&path).map_err(|source| PluginHostError::File { path, source })?;
        let loading = self.loading().await;
        let loaded = self.load(&name, Effort::Asked).await;
        let settled = self.settle(&name, signature, loaded, &HashMap::new()).await;
        self.loaded(loading).await;
        if !settled {
            return Err(PluginHostError::NotReloaded {
                id: id.to_owned(),
                reason: "its file was changed while it was read".to_owned(),
            });
        }
        let inner = self.inner();
        let entry = inner
            .files
            .get(&name)
            .ok_or_else(|| PluginHostError::NoSuchPlugin(id.to_owned()))?;
        let status = status(&name, entry);
        let refused = match status.state {
            PluginState::Active => status.pending_error.clone(),
            PluginState::Compiling
            | PluginState::Failed
            | PluginState::Incompatible
            | PluginState::Conflicting => status.reason.clone(),
        };
        match refused {
            Some(reason) => Err(PluginHostError::NotReloaded {
                id: status.id,
                reason,
            }),
            None => Ok(status),
        }
    }

    /// Tells whether `id` may be given to `file`: it claims it, and nobody here has it any more.
    pub(crate) async fn may_accept(&self, id: &str, file: &str) -> Result<(), PluginHostError> {
        let not = |reason: String| PluginHostError::NotAcceptable {
            id: id.to_owned(),
            file: file.to_owned(),
            reason,
        };
        let pins = self.pins.all().await.map_err(|error| not(error.to_string()))?;
        let owner = pins.get(id).map(|pin| &pin.file);
        let owner = owner.ok_or_else(|| self.no_such(id))?;
        let inner = self.inner();
        if owner != file && inner.files.contains_key(owner) {
            return Err(not(format!(
                "`{owner}` has it and is still there: remove that file first"
            )));
        }
        if inner.claims(file, id) {
            Ok(())
        } else {
            Err(not("no such file of the plugins directory claims it".to_owned()))
        }
    }

    /// The file of this name.
    pub(crate) fn status_of(&self, name: &str) -> Option<PluginStatus> {
        let inner = self.inner();
        inner.files.get(name).map(|entry| status(name, entry))
    }

    /// Every file, by name.
    pub(crate) fn list(&self) -> Vec<PluginStatus> {
        self.inner()
            .files
            .iter()
            .map(|(name, entry)| status(name, entry))
            .collect()
    }

    /// Descriptions of the plugins of one role that are in use, by id.
    pub(crate) fn of_role(&self, role: &str) -> Vec<About> {
        let all = self.in_use(role);
        let mut all: Vec<_> = all.iter().map(|(_, code)| code.about.clone()).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// The plugins of one role that are in use.
    pub(crate) fn in_use(&self, role: &str) -> Vec<(Arc<Slot>, Arc<Loaded>)> {
        let inner = self.inner();
        let all = inner.slots.values();
        all.filter_map(|slot| Some((slot.clone(), slot.code()?)))
            .filter(|(_, code)| code.is_of(role))
            .collect()
    }

    /// Tells whether a file that has had an id for longer than since `at` may yet turn out to be of this role: it is there, and
    /// not loaded so far.
    pub(crate) fn awaits_older(&self, role: &str, at: i64) -> bool {
        let inner = self.inner();
        let older = inner.pinned.iter().filter(|(_, since)| **since < at);
        older.into_iter().any(|(name, _)| match inner.files.get(name) {
            None => self.dir.join(name).is_file(),
            Some(entry) => entry.may_become(Some(role)),
        })
    }

    /// A word on what may yet provide `wanted`, a thing of this role, or of any with none; nothing once no file may.
    pub(crate) fn settling(&self, role: Option<&str>, wanted: String) -> Option<Settling> {
        let unseen = self.intake.is_looking() || role.is_some_and(|role| self.awaits_older(role, i64::MAX));
        let inner = self.inner();
        let compiling = inner.files.iter().filter(|(_, entry)| entry.may_become(role));
        let compiling: Vec<&str> = compiling.map(|(name, _)| name.as_str()).collect();
        let waits = match *compiling {
            [] if unseen => "the plugins directory is being read".to_owned(),
            [] => return None,
            [one] => format!("`{one}` is being compiled"),
            [first, ..] => format!("`{first}` and {} more are being compiled", compiling.len() - 1),
        };
        Some(Settling { wanted, waits })
    }

    /// A plugin id that nobody has: perhaps not yet.
    fn no_such(&self, id: &str) -> PluginHostError {
        match self.settling(None, format!("the plugin {}", one_line(id, SHOWN))) {
            Some(settling) => PluginHostError::Settling(settling),
            None => PluginHostError::NoSuchPlugin(id.to_owned()),
        }
    }

    /// The slot of a plugin that is in use.
    pub(crate) fn slot(&self, id: &str) -> Option<Arc<Slot>> {
        self.inner()
            .slots
            .get(id)
            .filter(|slot| slot.code().is_some())
            .cloned()
    }
}

impl Entry {
    /// Tells whether it waits for the compiler and may be of this role: which one it has is told before it is compiled.
    fn may_become(&self, role: Option<&str>) -> bool {
        let Outcome::Refused(refusal) = &self.outcome else {
            return false;
        };
        let other = role.is_some_and(|role| refusal.facts.role.as_deref().is_some_and(|told| told != role));
        refusal.state == PluginState::Compiling && !other
    }
}

/// Files that a change of owners concerns.
#[derive(Default)]
struct Moved {
    /// In use, with the file that its id belongs to now.
    lost: Vec<(String, String)>,
    /// Refused so far.
    won: Vec<(String, Signature)>,
}

impl Inner {
    fn note_pins(&mut self, pins: &HashMap<String, Pin>) {
        for (id, slot) in &self.slots {
            if let Some(pin) = pins.get(id) {
                slot.was_pinned(pin.at);
            }
        }
        self.pinned = pins.values().map(|pin| (pin.file.clone(), pin.at)).collect();
    }

    fn moved(&self, pins: &HashMap<String, Pin>) -> Moved {
        let mut moved = Moved::default();
        for (name, entry) in &self.files {
            let id = match &entry.outcome {
                Outcome::Active(slot) => Some(&slot.id),
                Outcome::Refused(refusal) => refusal.id.as_ref(),
            };
            let owner = id.and_then(|id| pins.get(id)).map(|pin| &pin.file);
            match (&entry.outcome, owner) {
                (Outcome::Active(_), Some(owner)) if owner != name => {
                    moved.lost.push((name.clone(), owner.clone()));
                }
                (Outcome::Refused(_), Some(owner)) if owner == name => {
                    moved.won.push((name.clone(), entry.signature));
                }
                _ => {}
            }
        }
        moved
    }

    /// Tells whether the file of this name waits for this id.
    fn claims(&self, name: &str, id: &str) -> bool {
        let entry = self.files.get(name);
        matches!(entry.map(|entry| &entry.outcome), Some(Outcome::Refused(refusal)) if refusal.id.as_deref() == Some(id))
    }

    /// The file that holds an id.
    fn holder(&self, id: &str) -> Option<&str> {
        self.files.iter().find_map(|(name, entry)| match &entry.outcome {
            Outcome::Active(slot) if slot.id == id => Some(name.as_str()),
            _ => None,
        })
    }

    /// The file of a plugin: by id, then by the name that stands for an unknown id.
    fn name_of(&self, id: &str) -> Option<String> {
        let named = || {
            self.files
                .keys()
                .find(|name| stem(name) == id)
                .map(String::as_str)
        };
        self.holder(id).or_else(named).map(str::to_owned)
    }
}

/// The `wanted` words, each once, if the plugin asks for all of them.
fn asked_for(mut wanted: Vec<String>, asks: &[String]) -> Result<Vec<String>, String> {
    if let Some(other) = wanted.iter().find(|word| !asks.contains(word)) {
        let asks = if asks.is_empty() {
            "none".to_owned()
        } else {
            asks.join(", ")
        };
        return Err(format!("it does not ask for {other}; it asks for: {asks}"));
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

fn conflict(loaded: &Loaded, holder: &str) -> Refusal {
    Refusal {
        facts: loaded.facts.clone(),
        id: Some(loaded.about.id.clone()),
        state: PluginState::Conflicting,
        reason: format!(
            "`{}` belongs to `{holder}`, which was there first; when that file is gone for good, an administrator may \
             accept this one",
            loaded.about.id
        ),
    }
}

fn status(name: &str, entry: &Entry) -> PluginStatus {
    let mut status = match &entry.outcome {
        Outcome::Active(slot) => active(name, slot),
        Outcome::Refused(refusal) => refused(name, refusal),
    };
    status.pending_error.clone_from(&entry.pending);
    status
}
