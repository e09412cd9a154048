//! Several servers on one PostgreSQL: one is active, under a lease in the database, the others stand by.
//!
//! A server that is not the first waits here, before any active part is wired: it listens, reports its health and the active
//! node, and has the plugins compiled. Once the lease of the active one is over, it begins the next term and the start goes
//! on. A server that was succeeded ends its process; its supervisor starts it again, as a standby. Nothing of its state in
//! memory survives.
//!
//! Writes to the database are fenced there (`qm_db`): no write of an earlier term is committed. Effects outside of it (on
//! torrent clients, files) need the [`Mandate`], which ends [`CAUTION`] before the lease.
//!
//! An SQLite file has one server, by a lock on it; nothing of this runs there.

mod keeper;
mod place;
mod standby;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, DbError, Holder, Lease};
use qm_kernel::{Ctx, Mandate, as_error};
use qm_net::Net;
use qm_platform::Node;
use qm_plugin_host::Compiler;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::config::Config;
use crate::failure::StartError;
use crate::secrets::Secrets;
use crate::start;

use keeper::{Keeper, Kept};
use place::Place;
use standby::Standby;

/// Time for which the active node keeps its lease without renewing it. With a look every second, and the start of what acts,
/// a take-over is done within ten seconds.
const LEASE: Duration = Duration::from_secs(6);
/// Time before the end of the lease in which nothing more is sent anywhere: earlier requests have this time to arrive.
const CAUTION: Duration = Duration::from_secs(1);
/// Interval between looks of a standby at the lease.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The place of a server among those of its database. Clones are handles to the same one.
#[derive(Clone)]
pub struct Post {
    /// Database of the service. Writes of a server that was succeeded are refused.
    pub db: Db,
    pub node: Node,
    pub mandate: Mandate,
    keeper: Option<Arc<Keeper>>,
}

impl Post {
    /// Place of the only server of a database, or of one that other servers must not know of.
    pub fn alone(db: Db, name: impl Into<String>) -> Self {
        Self {
            db,
            node: Node::alone(name),
            mandate: Mandate::for_ever(),
            keeper: None,
        }
    }

    /// Signal that another server has taken over; it never comes for a server alone.
    pub fn succession(&self) -> Succession {
        Succession(self.keeper.as_ref().map(|keeper| keeper.succession()))
    }

    /// Lets another server take over at once. It is called when this one does nothing any more.
    pub async fn give_back(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.give_back().await;
        }
    }
}

/// Signal that a server was succeeded.
pub struct Succession(Option<watch::Receiver<bool>>);

impl Succession {
    /// Ends once another server is active.
    pub async fn happened(mut self) {
        let told = match &mut self.0 {
            Some(told) => told.wait_for(|succeeded| *succeeded).await.is_ok(),
            None => false,
        };
        if !told {
            // The lease was given back, or there is none: this server cannot be succeeded any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Request to end the process. It may be awaited more than once, as long as it has not come.
pub type Asked<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send)>;

/// Parts of a server that wants to be the active one.
pub struct Candidate<'a> {
    pub config: &'a Config,
    pub secrets: &'a Secrets,
    pub ctx: &'a Ctx,
    pub net: &'a Net,
    pub compiler: &'a Compiler,
    pub db: Db,
    /// Name of the sessions of `db`.
    pub session: String,
    pub listener: &'a TcpListener,
}

impl Candidate<'_> {
    /// Waits until this server is the active one; `None` when it was asked to end before.
    pub async fn turn(self, mut asked: Asked<'_>) -> Result<Option<Post>, StartError> {
        let address = self
            .listener
            .local_addr()
            .map_err(|source| StartError::listen(self.config.listen, source))?;
        let name = name(self.config, address);
        let mut place = Place::none();
        let entry = |place: &Place| qm_db::Node {
            name: name.clone(),
            address: told_address(address),
            session: self.session.clone(),
            place: place.entry(),
            secrets: self.secrets.fingerprint(),
        };
        let Some(lease) = self.db.lease(entry(&place), LEASE) else {
            return Ok(Some(Post::alone(self.db, name)));
        };
        place = Place::for_data_dir(&self.config.data_dir);
        let mandate = Mandate::until(Duration::ZERO);
        let mut waiting = Waiting {
            node: Node::with_mandate(name.clone(), mandate.clone()),
            lease,
            place,
            standby: None,
            address,
            told_lost: false,
        };
        if waiting.lease.look().await?.is_none() {
            // The database is new, or from a version without leases: no other node has to be asked.
            self.net.has_authorities().await?;
            start::migrate(&self.db, self.config, self.ctx).await?;
        }
        let term = loop {
            waiting.lease.enter(entry(&waiting.place));
            if let Some((term, begun)) = waiting.look(&self).await? {
                mandate.prolong(begun + LEASE.saturating_sub(CAUTION));
                break term;
            }
            tokio::select! {
                () = &mut asked => {
                    waiting.end().await;
                    return Ok(None);
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        };
        tracing::info!(node = name, term, "this server is the active one");
        waiting.node.note_term(term);
        let (node, lease, place) = waiting.end().await;
        let refused = Arc::new(Notify::new());
        let kept = Kept {
            lease,
            term,
            node: node.clone(),
            mandate: mandate.clone(),
            refused: refused.clone(),
            succeeded: watch::Sender::new(false),
        };
        Ok(Some(Post {
            db: self.db.in_term(term, mandate.clone(), refused),
            node,
            mandate,
            keeper: Some(Arc::new(Keeper::start(kept, place))),
        }))
    }
}

/// A server that is not active yet.
struct Waiting {
    node: Node,
    lease: Lease,
    place: Place,
    /// Server that answers requests during the wait, once it is clear that there is one.
    standby: Option<Standby>,
    address: SocketAddr,
    /// True if the log says that the database does not answer, and not yet that it does again.
    told_lost: bool,
}

impl Waiting {
    /// Looks at the lease once, and takes over if that is due. Returns the term, and the latest time at which it began.
    async fn look(&mut self, candidate: &Candidate<'_>) -> Result<Option<(i64, Duration)>, StartError> {
        match self.try_once(candidate).await {
            Ok(taken) => {
                if std::mem::take(&mut self.told_lost) {
                    tracing::info!("the database answers again");
                }
                Ok(taken)
            }
            // One that cannot be reached at the start is the operator's to mend; one that is lost later comes back.
            Err(StartError::Database(error)) if self.standby.is_some() => {
                if !std::mem::replace(&mut self.told_lost, true) {
                    let error = as_error(&error);
                    tracing::warn!(error, "the lease of the active node cannot be looked at");
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn try_once(&mut self, candidate: &Candidate<'_>) -> Result<Option<(i64, Duration)>, StartError> {
        let Some(holder) = self.lease.look().await? else {
            return Ok(None);
        };
        // Whoever worked in our data directory on this machine, and no longer holds its lock, is gone.
        let surely = self.place.was_left_by(&holder.place);
        if holder.left.is_some() && !surely {
            self.stand_by(candidate, &holder).await?;
            return Ok(None);
        }
        self.node.note_active(None);
        let begun = Mandate::clock();
        match self.lease.take(holder.term, surely).await {
            Ok(taken) => Ok(taken.map(|term| (term, begun))),
            // Another one is about to take it, or a commit takes long: soon it is clear who has it.
            Err(DbError::Busy(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn stand_by(&mut self, candidate: &Candidate<'_>, holder: &Holder) -> Result<(), StartError> {
        if holder.secrets != candidate.secrets.fingerprint() {
            return Err(StartError::OtherSecrets {
                node: holder.name.clone(),
                address: holder.address.clone(),
            });
        }
        self.node.note_active(Some(holder.name.clone()));
        if self.standby.is_some() {
            return Ok(());
        }
        // A newer version's database is not ours to wait for; an older one's is brought up to date when it is our turn.
        candidate.db.outdated().await?;
        tracing::info!(
            node = self.node.name(),
            active = holder.name,
            address = holder.address,
            "standing by: another node is active"
        );
        self.standby = Some(Standby::begin(candidate, &self.node)?);
        standby::greet(self.address, holder);
        Ok(())
    }

    async fn end(self) -> (Node, Lease, Place) {
        if let Some(standby) = self.standby {
            standby.end().await;
        }
        (self.node, self.lease, self.place)
    }
}

fn name(config: &Config, address: SocketAddr) -> String {
    let port = address.port();
    config
        .node_name
        .clone()
        .unwrap_or_else(|| format!("{}:{port}", machine_name()))
}

/// Address for other servers: a server that listens on all addresses gives the name of its machine.
fn told_address(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("{}:{}", machine_name(), address.port())
    } else {
        address.to_string()
    }
}

fn machine_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}
