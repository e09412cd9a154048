//! A server with test events and consumers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, Tx, all, exec, sql};
use qm_kernel::Ctx;
use qm_kernel::event::{Cause, DomainEvent, Event, EventSink, EventSpec};
use qm_platform::outbox::{ConsumeError, Consumer, Patience, StoredEvent};
use qm_platform::testing::Wired;
use qm_platform::{Background, Bus};

qm_kernel::events! {
    /// A change was made.
    pub struct Changed: "test.changed" about "thing" {
        /// Name of the row of the change.
        change: String,
    }

    /// Effect of a consumer on a change.
    pub struct Followed: "test.followed" about "thing" {
        change: String,
    }
}

sql! {
    CHANGE = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 1)";
    /// A second effect is visible.
    EFFECT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 1) \
        ON CONFLICT (key) DO UPDATE SET updated_at = settings.updated_at + 1";
    ROWS = "SELECT key, updated_at FROM settings ORDER BY key";
}

const KINDS: &[EventSpec] = &[
    EventSpec::for_event::<Changed>(),
    EventSpec::for_event::<Followed>(),
];
pub const BRISK: Patience = Patience {
    poll: Duration::from_millis(50),
    idle_poll: Duration::from_millis(50),
    batch_delay: Duration::from_millis(1),
    lease: Duration::from_millis(300),
    handling: Duration::from_secs(5),
    attempts: 6,
    pause: Duration::from_millis(1),
};

/// Notified at every step between a change and its effect.
pub trait Steps: Send + Sync {
    fn reach(&self, step: &str);
}

/// Applies an effect for every event; `first` also publishes a following event, which only `second` gets.
pub struct Follower {
    pub name: &'static str,
    pub steps: Arc<dyn Steps>,
    pub ctx: Ctx,
}

impl Follower {
    fn is_first(&self) -> bool {
        self.name == "first"
    }
}

#[async_trait]
impl Consumer for Follower {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keys(&self) -> &'static [&'static str] {
        if self.is_first() {
            &[Changed::KEY]
        } else {
            &[Changed::KEY, Followed::KEY]
        }
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        self.steps.reach(&format!("{} begins", self.name));
        let event = &stored.event;
        let (what, change) = match event.read::<Changed>() {
            Some(changed) => ("changed", changed?.change),
            None => ("followed", event.read::<Followed>().expect("its key")?.change),
        };
        exec!(tx, EFFECT, format!("effect/{}/{what}/{change}", self.name))
            .await?
            .exactly(1)?;
        self.steps.reach(&format!("{} has its effect", self.name));
        if self.is_first() {
            let followed = Followed { change };
            tx.publish(DomainEvent::new(
                &self.ctx,
                Cause::event(event),
                "thing",
                &followed,
            ));
            self.steps.reach("first has published");
        }
        Ok(())
    }
}

/// An event sink that reports its steps.
pub struct ReportingSink {
    pub bus: Bus,
    pub steps: Arc<dyn Steps>,
}

impl EventSink for ReportingSink {
    fn plan(&self, event: &DomainEvent) -> Option<qm_kernel::event::Plan> {
        self.steps.reach(&format!("{} is planned", event.event_key));
        self.bus.plan(event)
    }

    fn publish(&self, event: DomainEvent) {
        let key = event.event_key.clone();
        self.steps.reach(&format!("{key} is committed"));
        self.bus.publish(event);
        self.steps.reach(&format!("{key} is told"));
    }
}

/// One server with both consumers.
pub struct Server {
    pub db: Db,
    pub ctx: Ctx,
    pub background: Background,
    steps: Arc<dyn Steps>,
}

impl Server {
    pub async fn start(db: Db, steps: Arc<dyn Steps>) -> Server {
        let ctx = Ctx::system();
        let told = |bus: &Bus| -> Arc<dyn EventSink> {
            Arc::new(ReportingSink {
                bus: bus.clone(),
                steps: steps.clone(),
            })
        };
        let Wired {
            db,
            outbox,
            background,
            ..
        } = Wired::telling(&db, &ctx, KINDS, BRISK, told).await;
        let follower = |name| -> Arc<dyn Consumer> {
            Arc::new(Follower {
                name,
                steps: steps.clone(),
                ctx: ctx.clone(),
            })
        };
        let consumers = vec![follower("first"), follower("second")];
        outbox.start(consumers, &background).await.unwrap();
        Server {
            db,
            ctx,
            background,
            steps,
        }
    }

    /// Makes a change, and publishes it in the same transaction.
    pub async fn change(&self, change: String) {
        let mut tx = self.db.begin_write().await.unwrap();
        self.steps.reach("nothing is changed yet");
        exec!(&mut tx, CHANGE, format!("change/{change}"))
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        self.steps.reach("something is changed");
        tx.publish(DomainEvent::new(
            &self.ctx,
            Cause::NONE,
            "thing",
            &Changed { change },
        ));
        self.steps.reach("it is published");
        tx.commit().await.unwrap();
    }
}

/// Number of committed changes, and the effects that are missing or were repeated.
pub async fn audit(db: &Db) -> (usize, Vec<String>) {
    let mut tx = db.begin_read().await.unwrap();
    let rows: Vec<(String, i64)> = all!(&mut tx, (String, i64), ROWS).await.unwrap();
    let mut wrong: Vec<String> = rows
        .iter()
        .filter(|(_, times)| *times != 1)
        .map(|(key, times)| format!("{key}: {times} times"))
        .collect();
    let keys: std::collections::BTreeSet<&str> = rows.iter().map(|(key, _)| &**key).collect();
    let changes: Vec<&str> = keys
        .iter()
        .filter_map(|key| key.strip_prefix("change/"))
        .collect();
    let effects = ["first/changed", "second/changed", "second/followed"];
    for change in &changes {
        for effect in effects {
            let key = format!("effect/{effect}/{change}");
            if !keys.contains(&*key) {
                wrong.push(format!("{key} is missing"));
            }
        }
    }
    if keys.len() > changes.len() * (1 + effects.len()) {
        wrong.push("there are effects of what never happened".to_owned());
    }
    (changes.len(), wrong)
}

/// Waits until nothing is missing; returns the number of changes.
pub async fn settled(db: &Db) -> usize {
    let mut last = Vec::new();
    for _ in 0..6000 {
        let (changes, wrong) = audit(db).await;
        if wrong.is_empty() {
            return changes;
        }
        assert!(!wrong.iter().any(|line| line.ends_with("times")), "{wrong:?}");
        last = wrong;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{last:?}")
}
