//! The area with fake actions and torrents in memory, for its own tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, Tx};
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{ClientInfo, PageQuery, Permission, PermissionSet, Principal, Role, Timestamp};
use qm_platform::outbox::{Consumer, StoredEvent};
use qm_platform::settings::TIMEZONE;
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, AuditRecord, AuditTrail};
use qm_ports::Settling;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, Occasion, TorrentRef};
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::list::{Listed, TorrentList, TorrentLists};
use qm_test_base::{Hands, Heard, START_MS, client, principal};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::model::log::LogLine;
use crate::model::rule::{Rule, RuleChange};
use crate::service::book::RuleBook;
use crate::service::edges::{Edges, Occasions};
use crate::service::{Automation, AutomationDeps, Caller};

qm_kernel::events! {
    /// Torrents were added again.
    pub struct Renewed: "torrent.renewed" about "engine" {
        engine_id: String,
        hashes: Vec<String>,
    }

    /// Event of the torrents: rules are due.
    pub struct Due: "torrent.rules_due" about "torrent" {
        trigger: String,
        engine_id: String,
        hash: String,
        torrent: Map<String, Value>,
        rules: Vec<String>,
    }

    /// Event of the disks.
    pub struct StorageLow: "storage.low" about "storage_root" {
        path: String,
        level: String,
        free_percent: u8,
        free_bytes: u64,
        total_bytes: u64,
        threshold_percent: u8,
    }

    /// Event of the shows.
    pub struct ShowEnded: "rss.show.ended" about "show" {
        title: String,
        to: String,
    }
}

/// State of all accounts.
#[derive(Clone, Copy, Debug)]
pub enum Account {
    Gone,
    Inactive,
    Of(Role),
}

/// Trusts every token and gives authors the account state that the test sets; administrators by default.
#[derive(Default)]
pub struct Authors(Mutex<Option<Account>>);

impl Authors {
    pub fn are(&self, account: Account) {
        *self.0.lock().unwrap() = Some(account);
    }
}

#[async_trait]
impl Acting for Authors {
    async fn judge(&self, tx: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        match *self.0.lock().unwrap() {
            Some(Account::Gone) => Err(ActingError::Gone),
            Some(Account::Inactive) => Err(ActingError::Inactive),
            Some(Account::Of(role)) => Ok(role.permissions().collect()),
            None => Ok(Role::Administrator.permissions().collect()),
        }
    }
}

/// Fake actions that obey the parameter `do`: nothing, `fail` (with `text`), `hang` (until released) or
/// `panic`; they record each call.
#[derive(Default)]
pub struct FakeActions {
    pub ran: Mutex<Vec<String>>,
    calls: Mutex<Vec<ActionCall>>,
    hanging: Mutex<usize>,
    pub go: Notify,
    gone: Mutex<Vec<String>>,
    /// True while their plugins are being compiled.
    pub compiles: AtomicBool,
    pub compiled: Notify,
}

impl FakeActions {
    /// Actions that ran since the last call: `action:first two digits of the hash:tag`.
    pub fn ran(&self) -> Vec<String> {
        std::mem::take(&mut *self.ran.lock().unwrap())
    }

    pub fn calls(&self) -> Vec<ActionCall> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    /// Ends all hanging actions.
    pub fn reset(&self) {
        *self.hanging.lock().unwrap() = 0;
    }

    /// Removes the plugin of an action.
    pub fn unload(&self, id: &str) {
        self.gone.lock().unwrap().push(id.to_owned());
    }

    pub async fn until_hanging(&self, count: usize) {
        until("actions to hang", || *self.hanging.lock().unwrap() >= count).await;
    }
}

fn kind((id, need): (&str, Permission), idempotent: bool, occasions: &[Occasion]) -> ActionKind {
    ActionKind {
        id: id.into(),
        label: format!("The {id}"),
        category: "torrent".into(),
        occasions: occasions.to_vec(),
        params_schema: json!({ "type": "object" }),
        idempotent,
        needs: vec![need],
        plugin: "fake".into(),
    }
}

#[async_trait]
impl Actions for FakeActions {
    fn actions(&self) -> Vec<ActionKind> {
        use Occasion::{Event, Media, Torrent};
        if self.compiles.load(Ordering::SeqCst) {
            return Vec::new();
        }
        let gone = self.gone.lock().unwrap().clone();
        let mut kinds = vec![
            ActionKind {
                params_schema: json!({ "type": "object", "properties": { "do": {}, "tag": {}, "body": { "x-placeholders": "json" },
                    "note": { "x-placeholders": "text" }, "word": { "enum": ["one", "two"] } } }),
                ..kind(
                    ("mark", Permission::AutomationManage),
                    true,
                    &[Torrent, Media, Event],
                )
            },
            kind(
                ("once", Permission::AutomationManage),
                false,
                &[Torrent, Media, Event],
            ),
            ActionKind {
                params_schema: json!({ "type": "object", "properties": { "do": {}, "tag": { "x-placeholders": true } } }),
                ..kind(("pause", Permission::TorrentsPause), true, &[Torrent])
            },
            kind(
                ("erase", Permission::TorrentsDeleteData),
                true,
                &[Torrent, Media, Event],
            ),
        ];
        kinds.retain(|kind| !gone.contains(&kind.id));
        kinds
    }

    fn settling(&self, action: &str) -> Option<Settling> {
        self.compiles.load(Ordering::SeqCst).then(|| Settling {
            wanted: format!("the action {action}"),
            waits: "its plugin is being compiled".to_owned(),
        })
    }

    async fn settled(&self) {
        if self.compiles.load(Ordering::SeqCst) {
            self.compiled.notified().await;
        }
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let hash = call.torrent.as_ref().map_or("-", |torrent| &torrent.hash[..2]);
        let tag = call.params.get("tag").and_then(Value::as_str).unwrap_or_default();
        self.ran.lock().unwrap().push(format!("{action}:{hash}:{tag}"));
        self.calls.lock().unwrap().push(call.clone());
        match call.params.get("do").and_then(Value::as_str) {
            Some("fail") => {
                let text = call
                    .params
                    .get("text")
                    .and_then(Value::as_str)
                    .unwrap_or("it failed");
                Err(ActionError::Rejected(text.to_owned()))
            }
            Some("hang") => {
                *self.hanging.lock().unwrap() += 1;
                self.go.notified().await;
                Ok(())
            }
            Some("panic") => panic!("as it was told"),
            _ => Ok(()),
        }
    }
}

/// A torrent and its JSON, at the same place in memory until it changes.
struct Entry {
    torrent: Torrent,
    json: Vec<u8>,
}

struct FakeList {
    version: u64,
    entries: Vec<Arc<Entry>>,
}

impl TorrentList for FakeList {
    fn engine_id(&self) -> &'static str {
        "e"
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry_at(&self, position: usize) -> Option<Listed<'_>> {
        let entry = self.entries.get(position)?;
        Some(Listed {
            torrent: &entry.torrent,
            json: &entry.json,
        })
    }

    fn find(&self, hash: &str) -> Option<Listed<'_>> {
        let position = self
            .entries
            .iter()
            .position(|entry| &*entry.torrent.hash == hash)?;
        self.entry_at(position)
    }
}

/// The list of one engine, `e`.
#[derive(Default)]
pub struct FakeLists(Mutex<Option<Arc<FakeList>>>);

impl FakeLists {
    /// Adds or replaces a torrent.
    pub fn put(&self, torrent: Torrent) {
        self.put_all(vec![torrent]);
    }

    pub fn remove(&self, n: u16) {
        let mut list = self.0.lock().unwrap();
        let (version, mut entries) = list
            .as_ref()
            .map_or((0, Vec::new()), |list| (list.version, list.entries.clone()));
        entries.retain(|entry| *entry.torrent.hash != *hash(n));
        *list = Some(Arc::new(FakeList {
            version: version + 1,
            entries,
        }));
    }

    /// Resets the engine to the state before its first read.
    pub fn clear(&self) {
        *self.0.lock().unwrap() = None;
    }

    pub fn put_all(&self, torrents: Vec<Torrent>) {
        let mut list = self.0.lock().unwrap();
        let (version, mut entries) = list
            .as_ref()
            .map_or((0, Vec::new()), |list| (list.version, list.entries.clone()));
        for torrent in torrents {
            let json = json!({
                "hash": &*torrent.hash, "name": torrent.name, "ratio": torrent.ratio, "savePath": torrent.save_path,
            });
            let place = entries
                .iter()
                .position(|entry| entry.torrent.hash == torrent.hash);
            let entry = Arc::new(Entry {
                torrent,
                json: json.to_string().into_bytes(),
            });
            match place {
                Some(place) => entries[place] = entry,
                None => entries.push(entry),
            }
        }
        *list = Some(Arc::new(FakeList {
            version: version + 1,
            entries,
        }));
    }
}

impl TorrentLists for FakeLists {
    fn lists(&self) -> Vec<Arc<dyn TorrentList>> {
        let list = self.0.lock().unwrap().clone();
        list.map(|list| list as Arc<dyn TorrentList>)
            .into_iter()
            .collect()
    }
}

/// A complete torrent.
pub fn torrent(n: u16) -> Torrent {
    Torrent {
        hash: hash(n).into(),
        name: format!("torrent {n}"),
        state: TorrentState::Seeding,
        progress: 1.0,
        size: u64::from(n),
        seeds_total: Some(0),
        peers_total: Some(0),
        priority: 2,
        save_path: "/d".into(),
        content_path: "/d/x".into(),
        is_private: Some(false),
        added_at: Some(Timestamp::from_ms(START_MS)),
        ..Torrent::default()
    }
}

pub fn hash(n: u16) -> String {
    format!("{:02x}{n:04x}", n % 256).repeat(7)[..40].to_owned()
}

pub fn torrent_ref(n: u16) -> TorrentRef {
    TorrentRef {
        engine_id: "e".into(),
        hash: hash(n),
    }
}

/// The area without background loops.
pub struct House {
    pub app: Arc<Automation>,
    pub book: Arc<RuleBook>,
    pub db: Db,
    pub clock: Arc<Hands>,
    pub actions: Arc<FakeActions>,
    pub lists: Arc<FakeLists>,
    pub authors: Arc<Authors>,
    pub heard: Arc<Heard>,
    principal: Principal,
    client: ClientInfo,
}

impl House {
    pub async fn new(db: &Db) -> Self {
        let clock = Hands::starting_at(START_MS);
        Self::over(db, clock, Arc::default(), Arc::default(), Arc::default()).await
    }

    async fn over(
        db: &Db,
        clock: Arc<Hands>,
        actions: Arc<FakeActions>,
        lists: Arc<FakeLists>,
        authors: Arc<Authors>,
    ) -> Self {
        let heard = Arc::new(Heard::default());
        let telling = db.clone().telling(heard.clone());
        let ground = testing::ground(&telling, &clock.ctx(), authors.clone());
        let book = RuleBook::open(db.clone(), ground.settings.clone()).await.unwrap();
        let app = Automation::start(AutomationDeps {
            ground,
            actions: actions.clone(),
            torrents: lists.clone(),
            book: book.clone(),
        });
        Self {
            app: app.await.unwrap(),
            book,
            db: db.clone(),
            clock,
            actions,
            lists,
            authors,
            heard,
            principal: principal(Role::Administrator),
            client: client(),
        }
    }

    /// The same database after a crash: memory is lost.
    pub async fn restarted(&self) -> Self {
        Self::over(
            &self.db,
            self.clock.clone(),
            self.actions.clone(),
            self.lists.clone(),
            self.authors.clone(),
        )
        .await
    }

    /// Sets the time zone of the operator.
    pub async fn in_zone(&self, zone: &str) {
        let ground = testing::ground(&self.db, &self.clock.ctx(), self.authors.clone());
        let mut tx = self.db.begin_write().await.unwrap();
        ground
            .settings
            .put(&mut tx, &TIMEZONE, &Some(zone.to_owned()))
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    /// Creates a rule with this trigger, priority, conditions and actions.
    pub async fn rule(&self, trigger: &str, priority: i64, conditions: Value, actions: Value) -> Rule {
        let change = RuleChange {
            name: Some(format!("rule {priority}")),
            trigger: Some(trigger.to_owned()),
            conditions: conditions.as_array().cloned(),
            actions: actions.as_array().cloned(),
            priority: Some(priority),
            ..RuleChange::default()
        };
        self.app.create(self.caller(), change).await.unwrap()
    }

    pub async fn change(&self, rule: &Rule, change: RuleChange) -> Rule {
        self.app.update(self.caller(), &rule.id, change).await.unwrap()
    }

    /// Passes an edge event of a torrent, at this outbox position.
    pub async fn edge(&self, trigger: &str, n: u16, position: i64, rules: &[&Rule]) {
        let due = Due {
            trigger: trigger.to_owned(),
            engine_id: "e".into(),
            hash: hash(n),
            torrent: [("name".to_owned(), json!(format!("torrent {n}")))]
                .into_iter()
                .collect(),
            rules: rules.iter().map(|rule| rule.id.clone()).collect(),
        };
        let event = DomainEvent::new(&self.clock.ctx(), Cause::NONE, hash(n), &due);
        let mut tx = self.db.begin_write().await.unwrap();
        let edges = Edges(self.app.clone());
        edges
            .handle(&mut tx, &StoredEvent { position, event })
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Passes an edge event of a torrent that stalls since then.
    pub async fn stall(&self, n: u16, since: &str, position: i64, rule: &Rule) {
        let due = Due {
            trigger: "torrent.stalled".to_owned(),
            engine_id: "e".into(),
            hash: hash(n),
            torrent: [("stalledSince".to_owned(), json!(since))].into_iter().collect(),
            rules: vec![rule.id.clone()],
        };
        let event = DomainEvent::new(&self.clock.ctx(), Cause::NONE, hash(n), &due);
        let mut tx = self.db.begin_write().await.unwrap();
        let edges = Edges(self.app.clone());
        edges
            .handle(&mut tx, &StoredEvent { position, event })
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Payloads of the events that a rule was stopped, which were told since the last call.
    pub async fn stopped(&self) -> Vec<Value> {
        let events = self.heard.take().into_iter();
        let stopped = events.filter(|event| event.event_key == "automation.rule_stopped");
        stopped.map(|event| event.payload).collect()
    }

    /// Passes an event that torrents of an engine were added again.
    pub async fn renewed(&self, engine_id: &str, torrents: &[u16]) {
        let renewed = Renewed {
            engine_id: engine_id.to_owned(),
            hashes: torrents.iter().map(|n| hash(*n)).collect(),
        };
        let event = DomainEvent::new(&self.clock.ctx(), Cause::NONE, engine_id, &renewed);
        let mut tx = self.db.begin_write().await.unwrap();
        let edges = Edges(self.app.clone());
        edges
            .handle(&mut tx, &StoredEvent { position: 9, event })
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Passes an event that a show has ended.
    pub async fn show_ended(&self, title: &str) {
        let ended = ShowEnded {
            title: title.to_owned(),
            to: "ended".to_owned(),
        };
        let event = DomainEvent::new(&self.clock.ctx(), Cause::NONE, "provider_a:1", &ended);
        self.occasion(event).await;
    }

    /// Hands an event to the consumer of its key.
    async fn occasion(&self, event: DomainEvent) {
        let consumers = Occasions::for_triggers(&self.app);
        let mut heard = consumers
            .iter()
            .filter(|consumer| consumer.keys().contains(&&*event.event_key));
        let consumer = heard.next().expect("a consumer");
        assert!(heard.next().is_none(), "one consumer hears {}", event.event_key);
        let mut tx = self.db.begin_write().await.unwrap();
        consumer
            .handle(&mut tx, &StoredEvent { position: 1, event })
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Passes an event that a disk of 1000 bytes has this many left.
    pub async fn storage_low(&self, path: &str, free_bytes: u64) {
        let low = StorageLow {
            path: path.to_owned(),
            level: if free_bytes > 50 { "low" } else { "critical" }.to_owned(),
            free_percent: (free_bytes / 10) as u8,
            free_bytes,
            total_bytes: 1000,
            threshold_percent: 15,
        };
        let event = DomainEvent::new(&self.clock.ctx(), Cause::NONE, path, &low);
        self.occasion(event).await;
    }

    /// The lines of a rule's log, the oldest first.
    pub async fn log(&self, rule: &Rule) -> Vec<LogLine> {
        let page = PageQuery {
            page: 1,
            page_size: 10_000,
        };
        let mut lines = self.app.logs(&rule.id, page).await.unwrap().0;
        lines.reverse();
        lines
    }

    /// Status and message of each log line, in any order.
    pub async fn log_messages(&self, rule: &Rule) -> Vec<(String, Option<String>)> {
        let lines = self.log(rule).await.into_iter();
        lines.map(|line| (line.status, line.message)).collect()
    }

    /// Audit rows of executed rules.
    pub async fn audited(&self) -> Vec<AuditRecord> {
        let mut tx = self.db.begin_read().await.unwrap();
        let mut rows = AuditTrail::newest(&mut tx, 1000).await.unwrap();
        rows.retain(|row| row.action == "automation.rule.executed");
        rows
    }
}

/// Waits for a condition, with a deadline only for tests that hang: a busy machine may be slow.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}
