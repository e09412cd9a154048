//! One order for many torrents, of one engine or of several.
//!
//! Torrents of an engine are worked on in parts, each in its turn among the bulks of that engine; engines do not wait for each other. One
//! torrent that fails stops no other; once an engine itself is gone, the rest of it is not tried. Data is removed by one order
//! for all torrents together, because those that share it must go together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use qm_engines::{Engine, TorrentsError, audit_entry};
use qm_kernel::{Caller, Permission};
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::engine::{Command, QueueMove};
use qm_torrent_data::{How, OwnData, Subject, checked_hash, is_carried_out_here, may_move};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::one::{check_able, is_shown_at_once, unmoved};
use super::{TorrentCommands, hosts};
use crate::error::CommandsError;
use crate::model::MOST;
use crate::model::act::{Act, Order};
use crate::model::results::{Failure, ItemResult, Outcome};
use crate::model::wish::{BulkWish, Chosen};

/// Torrents of one part: what a client is told at once.
pub const CHUNK: usize = 50;
/// Torrents of which some are told of one by one, in one part.
const ONE_BY_ONE: usize = 10;
/// Torrents that a request waits for; more are a job, where the request takes one.
pub const AT_ONCE_IN_A_REQUEST: usize = 200;

/// Answer to a request about many torrents.
pub enum Answered {
    Done(Outcome),
    /// Id of the job, and its number of torrents.
    Begun(String, usize),
}

/// A torrent as it was given, and its engine.
struct Planned {
    engine: Result<Arc<Engine>, Failure>,
    given: String,
    hash: Option<String>,
}

/// The torrents of a bulk, in the order in which they were given.
pub(super) struct Plan {
    items: Vec<Planned>,
    /// Torrents that turn out to have no tracker of the host are no part of the result.
    skips_others: bool,
}

/// Control of a bulk under way.
#[derive(Clone, Default)]
pub(super) struct Control {
    pub cancel: CancellationToken,
    /// Torrents that were tried.
    pub done: Arc<AtomicUsize>,
    /// Its user may not do that any more.
    pub is_revoked: Arc<AtomicBool>,
}

impl Control {
    /// The reason why the rest is not tried.
    fn stopped(&self, order: &Order) -> Option<Failure> {
        if self.is_revoked.load(Ordering::SeqCst) {
            let lacking = CommandsError::MissingPermission(order.kind.permission.key());
            return Some(lacking.as_failure());
        }
        let is_cancelled = self.cancel.is_cancelled();
        is_cancelled.then(|| CommandsError::Cancelled.as_failure())
    }
}

/// Results by hash; none: it was done.
type Results = HashMap<String, Option<Failure>>;

/// Torrents of an engine, each once.
struct Part {
    engine: Arc<Engine>,
    hashes: Vec<String>,
}

impl Plan {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn of_engine(engine: &Arc<Engine>, hashes: Vec<String>) -> Vec<Planned> {
        let plan = |given: String| Planned {
            engine: Ok(engine.clone()),
            hash: checked_hash(&given).ok(),
            given,
        };
        hashes.into_iter().map(plan).collect()
    }

    /// The engines with their torrents, each once.
    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut at: HashMap<Arc<str>, usize> = HashMap::new();
        let mut seen: HashSet<(usize, &str)> = HashSet::with_capacity(self.items.len());
        for item in &self.items {
            let (Ok(engine), Some(hash)) = (&item.engine, &item.hash) else {
                continue;
            };
            let number = *at.entry(engine.id.clone()).or_insert_with(|| {
                parts.push(Part {
                    engine: engine.clone(),
                    hashes: Vec::new(),
                });
                parts.len() - 1
            });
            if seen.insert((number, hash)) {
                parts[number].hashes.push(hash.clone());
            }
        }
        parts
    }

    /// The engines, each once; without those of which no torrent can be meant.
    fn engines(&self) -> Vec<&Arc<Engine>> {
        let mut engines: Vec<&Arc<Engine>> = Vec::new();
        for item in self.items.iter().filter(|item| item.hash.is_some()) {
            if let Ok(engine) = &item.engine
                && !engines.iter().any(|known| known.id == engine.id)
            {
                engines.push(engine);
            }
        }
        engines
    }
}

impl TorrentCommands {
    /// Does an order to many torrents, or begins a job that does.
    pub async fn do_many(
        self: &Arc<Self>,
        caller: Caller<'_>,
        wish: BulkWish,
    ) -> Result<Answered, CommandsError> {
        let needed = wish.order.kind.permission;
        if !caller.principal.has_permission(needed) {
            self.audit_refusal(caller, &wish, needed).await;
            return Err(CommandsError::MissingPermission(needed.key()));
        }
        let waits = wish.waits;
        let plan = self.plan(&wish)?;
        if plan.len() > MOST {
            return Err(CommandsError::TooManyTorrents(plan.len()));
        }
        if plan.len() > AT_ONCE_IN_A_REQUEST && is_of_files(&wish.order) {
            return Err(CommandsError::Value(format!(
                "names of files and folders are changed in {AT_ONCE_IN_A_REQUEST} torrents at most by one request"
            )));
        }
        refuse_unable(&plan, &wish.order)?;
        if plan.len() == 0 && waits {
            return Ok(Answered::Done(Outcome::default()));
        }
        if !waits && plan.len() > AT_ONCE_IN_A_REQUEST {
            let total = plan.len();
            let id = self.begin_bulk(caller, wish.order, plan).await?;
            return Ok(Answered::Begun(id, total));
        }
        let outcome = self.run(caller, &wish.order, &plan, &Control::default()).await;
        Ok(Answered::Done(outcome))
    }

    async fn audit_refusal(&self, caller: Caller<'_>, wish: &BulkWish, needed: Permission) {
        let count = match &wish.chosen {
            Chosen::OfEngine { hashes, .. } | Chosen::OnAll(hashes) => hashes.len(),
            Chosen::Items(items) => items.len(),
            Chosen::OfHost { .. } => 0,
        };
        let metadata = json!({ "count": count, "reason": "forbidden", "required": needed.key() });
        let entry = AuditEntry {
            result: AuditResult::Failure,
            ..audit_entry(caller, wish.order.kind.audited_as, None, Some(metadata))
        };
        self.ground.audit.record_alone(&self.ground.db, entry).await;
    }

    fn plan(&self, wish: &BulkWish) -> Result<Plan, CommandsError> {
        let items = match &wish.chosen {
            Chosen::OfEngine { engine_id, hashes } => {
                let engine = self.engines.resolve(engine_id.as_deref())?;
                Plan::of_engine(&engine, hashes.clone())
            }
            Chosen::Items(items) => self.plan_items(items),
            Chosen::OnAll(hashes) => self.plan_on_all(hashes)?,
            Chosen::OfHost { engine_id, all } => {
                let engines = if *all {
                    self.engines.all()
                } else {
                    vec![self.engines.resolve(engine_id.as_deref())?]
                };
                if engines.is_empty() {
                    return Err(self.engines.no_engine().into());
                }
                of_host(&engines, &wish.order)?
            }
        };
        Ok(Plan {
            items,
            skips_others: matches!(wish.chosen, Chosen::OfHost { .. }),
        })
    }

    fn plan_items(&self, items: &[(Option<String>, String)]) -> Vec<Planned> {
        let mut known: HashMap<Option<&str>, Result<Arc<Engine>, Failure>> = HashMap::new();
        let mut planned = Vec::with_capacity(items.len());
        for (engine_id, given) in items {
            let engine = known.entry(engine_id.as_deref()).or_insert_with(|| {
                let engine = self.engines.resolve(engine_id.as_deref());
                engine.map_err(|error| CommandsError::from(error).as_failure())
            });
            planned.push(Planned {
                engine: engine.clone(),
                hash: checked_hash(given).ok(),
                given: given.clone(),
            });
        }
        planned
    }

    fn plan_on_all(&self, hashes: &[String]) -> Result<Vec<Planned>, CommandsError> {
        let engines = self.engines.all();
        if engines.is_empty() {
            return Err(self.engines.no_engine().into());
        }
        let mut planned = Vec::with_capacity(hashes.len());
        for given in hashes {
            let hash = checked_hash(given).ok();
            let lists = |engine: &&Arc<Engine>| {
                let snapshot = engine.snapshot();
                hash.as_deref()
                    .zip(snapshot)
                    .is_some_and(|(hash, list)| list.get(hash).is_some())
            };
            let before = planned.len();
            planned.extend(engines.iter().filter(lists).map(|engine| Planned {
                engine: Ok(engine.clone()),
                given: given.clone(),
                hash: hash.clone(),
            }));
            if planned.len() == before {
                planned.push(Planned {
                    engine: Err(CommandsError::from(TorrentsError::NoSuchTorrent).as_failure()),
                    given: given.clone(),
                    hash: hash.clone(),
                });
            }
        }
        Ok(planned)
    }

    /// Carries a bulk out, audits it and has the lists read again.
    pub(super) async fn run(
        &self,
        caller: Caller<'_>,
        order: &Order,
        plan: &Plan,
        control: &Control,
    ) -> Outcome {
        let parts = plan.parts();
        let done: HashMap<Arc<str>, (Results, Option<Failure>)> =
            if let Act::RemoveData { keep_shared } = order.act {
                self.remove_all(caller, order, &parts, keep_shared, control).await
            } else {
                let running = parts.iter().map(|part| async {
                    let done = self.run_part(caller, order, part, control).await;
                    (part.engine.id.clone(), done)
                });
                join_all(running).await.into_iter().collect()
            };
        let outcome = Outcome::new(results_of(plan, &done));
        self.audit_bulk(caller, order, plan, &outcome).await;
        if outcome.succeeded() > 0 {
            for engine in plan.engines() {
                engine.show_change(is_shown_at_once(order)).await;
            }
        }
        outcome
    }

    async fn audit_bulk(&self, caller: Caller<'_>, order: &Order, plan: &Plan, outcome: &Outcome) {
        let engines = plan.engines();
        let mut metadata = Map::new();
        match engines.as_slice() {
            [engine] => drop(metadata.insert("engineId".into(), (*engine.id).into())),
            several => {
                let ids: Vec<&str> = several.iter().map(|engine| &*engine.id).collect();
                metadata.insert("engineIds".into(), ids.into());
            }
        }
        let counts = json!({
            "count": outcome.results.len(),
            "succeeded": outcome.succeeded(),
            "failed": outcome.failed,
            "libraryItemsRemoved": 0,
        });
        if let Value::Object(counts) = counts {
            metadata.extend(counts);
        }
        metadata.extend(facts(order));
        let entry = audit_entry(caller, order.kind.audited_as, None, Some(Value::Object(metadata)));
        self.ground.audit.record_alone(&self.ground.db, entry).await;
    }

    /// Does an order to torrents of one engine. The second value is why the rest was not tried.
    async fn run_part(
        &self,
        caller: Caller<'_>,
        order: &Order,
        part: &Part,
        control: &Control,
    ) -> (Results, Option<Failure>) {
        let engine = &part.engine;
        if let Err(error) = check_able(engine, None, order.kind.ability) {
            control.done.fetch_add(part.hashes.len(), Ordering::Relaxed);
            return (Results::new(), Some(error.as_failure()));
        }
        let mut results = Results::with_capacity(part.hashes.len());
        let at_once = command_of(order);
        let size = if at_once.is_some() { CHUNK } else { ONE_BY_ONE };
        for chunk in in_order(&part.hashes, size, order) {
            let turn = self.turns.take(vec![engine.id.to_string()]).await;
            let stopped = control.stopped(order);
            if stopped.is_some() {
                return (results, stopped);
            }
            let gone = match at_once {
                Some(command) => {
                    self.run_chunk(caller, order, (engine, chunk), command, &mut results)
                        .await
                }
                None => self.run_singly(caller, order, engine, chunk, &mut results).await,
            };
            drop(turn);
            control.done.fetch_add(chunk.len(), Ordering::Relaxed);
            if gone.is_some() {
                return (results, gone);
            }
        }
        (results, None)
    }

    /// Tells a client a command for several torrents at once. Answers the reason why it need not be asked any more.
    async fn run_chunk(
        &self,
        caller: Caller<'_>,
        order: &Order,
        (engine, chunk): (&Arc<Engine>, &[String]),
        command: &Command,
        results: &mut Results,
    ) -> Option<Failure> {
        let (here, chunk): (Vec<String>, Vec<String>) = chunk
            .iter()
            .cloned()
            .partition(|hash| is_carried_out_here(engine, hash, command));
        if !here.is_empty() {
            let gone = self.run_singly(caller, order, engine, &here, results).await;
            if gone.is_some() {
                return gone;
            }
        }
        let (free, moving): (Vec<String>, Vec<String>) = chunk
            .iter()
            .cloned()
            .partition(|hash| self.data.refuse_busy(engine, hash).is_ok());
        let is_moving = CommandsError::from(TorrentsError::Moving).as_failure();
        results.extend(moving.into_iter().map(|hash| (hash, Some(is_moving.clone()))));
        let (taking, plain): (Vec<String>, Vec<String>) =
            free.into_iter().partition(|hash| may_move(engine, hash, command));
        let gone = self
            .tell_many(order, engine, (&plain, command), None, results)
            .await;
        if gone.is_some() || taking.is_empty() {
            return gone;
        }
        if let Err(error) = self.data.align_categories(engine, &taking, command).await {
            let error = CommandsError::from(error);
            if error.is_transport() {
                return Some(error.as_failure());
            }
            let failure = error.as_failure();
            results.extend(taking.into_iter().map(|hash| (hash, Some(failure.clone()))));
            return None;
        }
        let subjects: Vec<Subject> = taking.iter().map(|hash| (engine.clone(), hash.clone())).collect();
        let (held, judged) = self.data.hold_all(&subjects).await;
        let mut own = Vec::with_capacity(taking.len());
        for (hash, judged) in taking.into_iter().zip(judged) {
            match judged.map_err(unmoved) {
                Ok(()) => own.push(hash),
                Err(error) if error.is_transport() => return Some(error.as_failure()),
                Err(error) => drop(results.insert(hash, Some(error.as_failure()))),
            }
        }
        self.tell_many(order, engine, (&own, command), held.as_ref(), results)
            .await
    }

    async fn tell_many(
        &self,
        order: &Order,
        engine: &Arc<Engine>,
        (hashes, command): (&[String], &Command),
        held: Option<&OwnData>,
        results: &mut Results,
    ) -> Option<Failure> {
        if hashes.is_empty() {
            return None;
        }
        let told = async {
            let command = self.judge(command.clone()).await?;
            let told = match held {
                Some(held) => engine.order_taking(hashes, command, held.proof()).await,
                None => engine.order(hashes, command).await,
            };
            told.map_err(|error| CommandsError::of_engine(&engine.name(), order.kind.ability, error))
        };
        match told.await {
            Ok(told) => {
                results.extend(told.into_iter().map(|outcome| {
                    let error = outcome.result.err().map(|error| {
                        CommandsError::of_engine(&engine.name(), order.kind.ability, error).as_failure()
                    });
                    (outcome.hash, error)
                }));
                None
            }
            Err(error) => {
                tracing::warn!(engine.id = %engine.id, %error, action = order.kind.name, "a bulk action was not done");
                let failure = error.as_failure();
                if error.is_transport() {
                    return Some(failure);
                }
                results.extend(hashes.iter().map(|hash| (hash.clone(), Some(failure.clone()))));
                None
            }
        }
    }

    /// As [`TorrentCommands::run_chunk`], for an order that differs by the torrent.
    async fn run_singly(
        &self,
        caller: Caller<'_>,
        order: &Order,
        engine: &Arc<Engine>,
        chunk: &[String],
        results: &mut Results,
    ) -> Option<Failure> {
        for hash in chunk {
            let failure = match self.act(Some(caller), engine, hash, order).await {
                Ok(()) => None,
                Err(error) if error.is_transport() => return Some(error.as_failure()),
                Err(error) => Some(error.as_failure()),
            };
            results.insert(hash.clone(), failure);
        }
        None
    }

    /// Removes torrents with their data, as one order.
    async fn remove_all(
        &self,
        caller: Caller<'_>,
        order: &Order,
        parts: &[Part],
        keep_shared: bool,
        control: &Control,
    ) -> HashMap<Arc<str>, (Results, Option<Failure>)> {
        let subjects: Vec<Subject> = parts
            .iter()
            .flat_map(|part| part.hashes.iter().map(|hash| (part.engine.clone(), hash.clone())))
            .collect();
        let how = How {
            keep_shared,
            along: &[],
            user_id: caller.user_id(),
        };
        let mut done: HashMap<Arc<str>, (Results, Option<Failure>)> = HashMap::new();
        let stopped = control.stopped(order);
        if subjects.is_empty() || stopped.is_some() {
            let engines = parts.iter().map(|part| part.engine.id.clone());
            return engines
                .map(|id| (id, (Results::new(), stopped.clone())))
                .collect();
        }
        let ended = self.data.remove_with_data(&subjects, how).await;
        for ((engine, hash), ended) in subjects.into_iter().zip(ended) {
            let failure = ended.err().map(|error| CommandsError::from(error).as_failure());
            let (results, _) = done.entry(engine.id.clone()).or_default();
            results.insert(hash, failure);
            control.done.fetch_add(1, Ordering::Relaxed);
        }
        done
    }
}

/// All torrents of engines that may have a tracker of the order's host.
fn of_host(engines: &[Arc<Engine>], order: &Order) -> Result<Vec<Planned>, CommandsError> {
    let Act::ReplaceHost(change) = &order.act else {
        return Err(CommandsError::Value("items must be given".to_owned()));
    };
    let mut planned = Vec::new();
    for engine in engines {
        let Some(snapshot) = engine.snapshot() else {
            continue;
        };
        let meant = snapshot
            .torrents()
            .filter(|torrent| hosts::may_have_host(torrent, &change.host));
        let hashes = meant.map(|torrent| torrent.hash.to_string()).collect();
        planned.extend(Plan::of_engine(engine, hashes));
    }
    Ok(planned)
}

/// Refuses an order that no engine of its torrents can carry out, before any client is asked.
fn refuse_unable(plan: &Plan, order: &Order) -> Result<(), CommandsError> {
    let mut refusal = Ok(());
    for engine in plan.engines() {
        match check_able(engine, None, order.kind.ability) {
            Ok(()) => return Ok(()),
            Err(error) if refusal.is_ok() => refusal = Err(error),
            Err(_) => {}
        }
    }
    refusal
}

/// True for new names of files: each asks who uses the data of all torrents.
const fn is_of_files(order: &Order) -> bool {
    matches!(order.act, Act::RenameFile { .. } | Act::RenameFolder { .. })
}

/// Command that a client is told for several torrents at once.
const fn command_of(order: &Order) -> Option<&Command> {
    match &order.act {
        Act::Plain(command) => Some(command),
        _ => None,
    }
}

/// Parts in the order in which a client is told them: torrents that go to the top, or down, keep their order among each other only if
/// the last ones go first.
fn in_order<'a>(hashes: &'a [String], size: usize, order: &Order) -> Vec<&'a [String]> {
    let mut chunks: Vec<&[String]> = hashes.chunks(size).collect();
    if matches!(
        order.act,
        Act::Plain(Command::Queue(QueueMove::Top | QueueMove::Down))
    ) {
        chunks.reverse();
    }
    chunks
}

/// Parameters of an order for the audit of a bulk.
fn facts(order: &Order) -> Map<String, Value> {
    let mut facts = order.facts();
    let mut put = |name: &str, value: Value| drop(facts.insert(name.to_owned(), value));
    match &order.act {
        Act::Plain(Command::SetLabel { label }) => put("label", label.as_str().into()),
        Act::Plain(Command::UploadLimit(rate)) => put("uploadBytesPerSec", (*rate).into()),
        Act::Plain(Command::DownloadLimit(rate)) => put("downloadBytesPerSec", (*rate).into()),
        Act::Plain(Command::DownloadPath(path)) => put("downloadPath", path.as_deref().into()),
        Act::Plain(Command::Rename { name }) => put("newName", name.as_str().into()),
        Act::Plain(Command::BanPeers { peers }) => put("peers", peers.as_slice().into()),
        Act::Plain(
            Command::Sequential(on)
            | Command::FirstLastPiece(on)
            | Command::SuperSeeding(on)
            | Command::AutoManage(on),
        ) => put("on", (*on).into()),
        // As it stood before there were more commands.
        Act::RemoveData { .. } => facts.clear(),
        _ => {}
    }
    facts
}

/// One result for each torrent that was given.
fn results_of(plan: &Plan, done: &HashMap<Arc<str>, (Results, Option<Failure>)>) -> Vec<ItemResult> {
    let lost = || CommandsError::from(TorrentsError::NoSuchTorrent).as_failure();
    let result = |item: &Planned| {
        let (engine_id, failure) = match (&item.engine, &item.hash) {
            (Err(failure), _) => (None, Some(failure.clone())),
            (Ok(engine), None) => (Some(engine), Some(lost())),
            (Ok(engine), Some(hash)) => {
                let of_engine = done.get(&engine.id);
                let known = of_engine.and_then(|(results, _)| results.get(hash));
                let failure = match (known, of_engine.and_then(|(_, gone)| gone.clone())) {
                    (Some(known), _) => known.clone(),
                    (None, Some(gone)) => Some(gone),
                    (None, None) => Some(Failure {
                        code: "upstream.engine_protocol",
                        text: format!("{} did not tell what became of it", engine.name()).into(),
                    }),
                };
                (Some(engine), failure)
            }
        };
        ItemResult {
            engine_id: engine_id.map(|engine| engine.id.clone()),
            hash: item.given.clone(),
            failure,
        }
    };
    let results = plan.items.iter().map(result);
    let is_other = |result: &ItemResult| {
        let failure = result.failure.as_ref();
        plan.skips_others && failure.is_some_and(|failure| failure.code == "not_found.tracker")
    };
    results.filter(|result| !is_other(result)).collect()
}
