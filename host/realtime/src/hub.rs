//! Hub: connected sockets and delivery of events.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use qm_kernel::{AddressBlock, Ctx, Principal, Timestamp, TokenVerifier};
use qm_lanes::IgnorePoison;
use serde::Serialize;
use tokio::sync::watch;

use super::audience;
use super::ended_sessions::{EndedUsers, SessionsEnded};
use super::message::{Protocol, Shared};
use super::outbox::{Offer, TopicId};
use super::socket::{Socket, SocketId};
use super::topic::{Form, Topic};
use super::{HubConfig, HubCounters, Room, StateSource};

/// The realtime channel of a server; clones are handles to the same one.
#[derive(Clone)]
pub struct Hub(Arc<Shop>);

/// State shared by the handles.
struct Shop {
    config: HubConfig,
    verifier: Arc<dyn TokenVerifier>,
    ctx: Ctx,
    sockets: RwLock<HashMap<SocketId, Arc<Socket>>>,
    topics: RwLock<Vec<Arc<Topic>>>,
    crowd: Mutex<Crowd>,
    ended: EndedUsers,
    numbers: AtomicU64,
    tally: Tally,
    closing: watch::Sender<bool>,
    /// Number of sockets that have joined rooms so far.
    arrivals: watch::Sender<u64>,
}

/// Connected sockets by address.
#[derive(Default)]
struct Crowd {
    present: HashMap<Holder, Present>,
    /// Sockets without a token, over all addresses.
    waiting: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Caller(AddressBlock),
    /// The holder of the IPv6 /48 around the caller's /64.
    Site(AddressBlock),
}

impl Holder {
    fn holders_of(ip: IpAddr) -> impl Iterator<Item = Holder> {
        let site = AddressBlock::site(ip).map(Holder::Site);
        std::iter::once(Holder::Caller(AddressBlock::containing(ip))).chain(site)
    }

    /// Number of callers' shares in the limit.
    const fn shares(self) -> usize {
        match self {
            Holder::Caller(_) => 1,
            Holder::Site(_) => 2,
        }
    }
}

/// Sockets of one holder.
#[derive(Default)]
struct Present {
    all: usize,
    waiting: usize,
}

#[derive(Default)]
pub(super) struct Tally {
    pub(super) sent_frames: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    pub(super) stalled: AtomicU64,
    dropped: AtomicU64,
    resyncs: AtomicU64,
    refused: AtomicU64,
}

/// Reason to refuse a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    ShuttingDown,
    Full,
    AddressFull,
    /// Too many sockets without a token.
    WaitingFull,
    Origin,
}

impl Hub {
    pub fn new(config: HubConfig, verifier: Arc<dyn TokenVerifier>, ctx: Ctx) -> Hub {
        Hub(Arc::new(Shop {
            config,
            verifier,
            ctx,
            sockets: RwLock::default(),
            topics: RwLock::default(),
            crowd: Mutex::default(),
            ended: EndedUsers::default(),
            numbers: AtomicU64::new(1),
            tally: Tally::default(),
            closing: watch::Sender::new(false),
            arrivals: watch::Sender::new(0),
        }))
    }

    /// Sends `data`, which is JSON, to everyone in the room. Never waits: a slow socket loses its oldest
    /// events.
    pub fn emit(&self, room: Room, event: &'static str, data: Bytes) {
        if !audience::admits(self.0.config.audiences, event, &room) {
            return;
        }
        let mut shared = Shared::new(event, &data);
        for socket in self.sockets().values().filter(|socket| socket.is_in(&room)) {
            self.note(socket.outbox.event(shared.frame(socket.protocol)));
        }
    }

    /// Serialises `message` and sends it like [`Hub::emit`]. A serialisation error is logged, and nothing is
    /// sent.
    pub fn emit_json(&self, room: Room, event: &'static str, message: &impl Serialize) {
        match serde_json::to_vec(message) {
            Ok(json) => self.emit(room, event, Bytes::from(json)),
            Err(error) => tracing::error!(event, %error, "a realtime message cannot be serialised"),
        }
    }

    /// Publishes a state under its own id; everyone in its room gets the whole state at once. A source with
    /// the same id is replaced.
    pub fn attach_source(&self, id: &str, source: Arc<dyn StateSource>) {
        self.detach_source(id);
        if !audience::admits(self.0.config.audiences, source.event(), &source.room()) {
            return;
        }
        let topic = Arc::new(Topic::new(
            self.0.numbers.fetch_add(1, Ordering::Relaxed),
            id,
            source,
        ));
        self.topics_mut().push(Arc::clone(&topic));
        for socket in self.sockets().values() {
            subscribe(socket, &topic);
        }
    }

    pub fn detach_source(&self, id: &str) {
        let gone: Vec<Arc<Topic>> = self.topics_mut().extract_if(.., |topic| topic.id == id).collect();
        for topic in gone {
            for socket in self.sockets().values() {
                socket.outbox.forget(topic.number);
            }
        }
    }

    /// Reports a change of source `id`: it is at `seq` now, and `delta` is the JSON that leads there from
    /// `seq - 1`. Call it after the source's snapshot shows the change, in order of `seq`.
    pub fn state_changed(&self, id: &str, seq: u64, delta: Bytes) {
        let Some(topic) = self.topics().iter().find(|topic| topic.id == id).cloned() else {
            return;
        };
        topic.touch();
        let mut shared = Shared::new(topic.event(), &delta);
        for socket in self.sockets().values().filter(|socket| socket.is_in(&topic.room)) {
            let offer = match socket.form() {
                Form::Deltas(protocol) => socket.outbox.delta(topic.number, seq, shared.frame(protocol)),
                Form::List => socket.outbox.full(topic.number),
            };
            self.note(offer);
        }
    }

    /// True when any socket is in the room.
    pub fn has_audience(&self, room: &Room) -> bool {
        self.sockets().values().any(|socket| socket.is_in(room))
    }

    /// Changes whenever a socket joins rooms, for sources that do more while clients watch.
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.0.arrivals.subscribe()
    }

    pub fn counters(&self) -> HubCounters {
        let tally = &self.0.tally;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut counters = HubCounters {
            sent_frames: read(&tally.sent_frames),
            sent_bytes: read(&tally.sent_bytes),
            dropped: read(&tally.dropped),
            resyncs: read(&tally.resyncs),
            refused: read(&tally.refused),
            stalled: read(&tally.stalled),
            ..HubCounters::default()
        };
        for socket in self.sockets().values() {
            let (frames, bytes) = socket.outbox.waiting();
            counters.sockets += 1;
            counters.authenticated += u64::from(socket.is_in(&Room::Authenticated));
            counters.queued_frames += frames as u64;
            counters.queued_bytes += bytes as u64;
        }
        counters
    }

    /// Closes the user's sockets, and refuses earlier tokens for new ones. Repetition is harmless.
    pub fn end_sessions(&self, user_id: &str, ended: SessionsEnded) {
        // Recorded first: a socket that is being admitted meanwhile either finds the record or is found here.
        self.0.ended.note(user_id, ended);
        let until = if ended.for_good {
            Timestamp::from_ms(i64::MAX)
        } else {
            ended.at
        };
        let sockets = self.sockets();
        for socket in sockets.values().filter(|socket| socket.is_of(user_id, until)) {
            socket.ended.cancel();
        }
    }

    /// Closes all sockets, and admits no more.
    pub fn shutdown(&self) {
        self.0.closing.send_replace(true);
    }

    pub(super) fn config(&self) -> &HubConfig {
        &self.0.config
    }

    pub(super) fn ctx(&self) -> &Ctx {
        &self.0.ctx
    }

    /// True when the sessions of the token's user have ended since its issue.
    pub(super) fn has_ended(&self, principal: &Principal) -> bool {
        self.0.ended.covers(principal, self.0.config.token_ttl)
    }

    pub(super) fn verifier(&self) -> &dyn TokenVerifier {
        &*self.0.verifier
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.0.tally
    }

    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.subscribe()
    }

    /// Registers a socket until [`Hub::leave`]. One that is `known` has a valid token.
    pub(super) fn enter(&self, protocol: Protocol, ip: IpAddr, known: bool) -> Result<Arc<Socket>, Refused> {
        let config = &self.0.config;
        if *self.0.closing.borrow() {
            return Err(self.refuse(Refused::ShuttingDown));
        }
        let mut sockets = self.sockets_mut();
        if sockets.len() >= config.max_sockets {
            return Err(self.refuse(Refused::Full));
        }
        let mut crowd = self.crowd();
        if !known && crowd.waiting >= config.max_waiting {
            return Err(self.refuse(Refused::WaitingFull));
        }
        let full = Holder::holders_of(ip).any(|holder| {
            let share = |most: usize| most.saturating_mul(holder.shares());
            crowd.present.get(&holder).is_some_and(|present| {
                present.all >= share(config.max_per_address)
                    || (!known && present.waiting >= share(config.max_waiting_per_address))
            })
        });
        if full {
            return Err(self.refuse(Refused::AddressFull));
        }
        for holder in Holder::holders_of(ip) {
            let present = crowd.present.entry(holder).or_default();
            present.all += 1;
            present.waiting += 1;
        }
        crowd.waiting += 1;
        let id = self.0.numbers.fetch_add(1, Ordering::Relaxed);
        let socket = Arc::new(Socket::new(id, protocol, ip));
        sockets.insert(id, Arc::clone(&socket));
        Ok(socket)
    }

    pub(super) fn refuse(&self, why: Refused) -> Refused {
        self.0.tally.refused.fetch_add(1, Ordering::Relaxed);
        why
    }

    pub(super) fn leave(&self, socket: &Socket) {
        self.sockets_mut().remove(&socket.id);
        let waited = usize::from(!socket.is_in(&Room::Authenticated));
        let mut crowd = self.crowd();
        crowd.waiting -= waited;
        for holder in Holder::holders_of(socket.ip) {
            if let Some(present) = crowd.present.get_mut(&holder) {
                present.all -= 1;
                present.waiting -= waited;
                if present.all == 0 {
                    crowd.present.remove(&holder);
                }
            }
        }
    }

    /// Moves a socket with a new principal into the rooms that it may see, and out of the others.
    pub(super) fn admitted(&self, socket: &Socket, was_waiting: bool) {
        self.count_waiting(socket, was_waiting, false);
        for topic in self.topics().iter() {
            if socket.is_in(&topic.room) {
                subscribe(socket, topic);
            } else {
                socket.outbox.forget(topic.number);
            }
        }
        self.0
            .arrivals
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Removes a connected socket from its rooms.
    pub(super) fn dismissed(&self, socket: &Socket) {
        self.count_waiting(socket, false, true);
        socket.outbox.forget_all();
    }

    fn count_waiting(&self, socket: &Socket, was: bool, is: bool) {
        let count = |waiting: usize| (waiting + usize::from(is)).saturating_sub(usize::from(was));
        let mut crowd = self.crowd();
        crowd.waiting = count(crowd.waiting);
        for holder in Holder::holders_of(socket.ip) {
            if let Some(present) = crowd.present.get_mut(&holder) {
                present.waiting = count(present.waiting);
            }
        }
    }

    pub(super) fn topic(&self, number: TopicId) -> Option<Arc<Topic>> {
        self.topics().iter().find(|topic| topic.number == number).cloned()
    }

    fn note(&self, offer: Offer) {
        match offer {
            Offer::Queued | Offer::Ignored => {}
            Offer::Dropped(events) => {
                self.0.tally.dropped.fetch_add(events, Ordering::Relaxed);
            }
            Offer::Resync => {
                self.0.tally.resyncs.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn sockets(&self) -> RwLockReadGuard<'_, HashMap<SocketId, Arc<Socket>>> {
        self.0.sockets.read().ignore_poison()
    }

    fn sockets_mut(&self) -> RwLockWriteGuard<'_, HashMap<SocketId, Arc<Socket>>> {
        self.0.sockets.write().ignore_poison()
    }

    fn topics(&self) -> RwLockReadGuard<'_, Vec<Arc<Topic>>> {
        self.0.topics.read().ignore_poison()
    }

    fn topics_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<Topic>>> {
        self.0.topics.write().ignore_poison()
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.0.crowd.lock().ignore_poison()
    }
}

fn subscribe(socket: &Socket, topic: &Topic) {
    if socket.is_in(&topic.room) && !socket.outbox.has(topic.number) {
        socket.outbox.full(topic.number);
    }
}
