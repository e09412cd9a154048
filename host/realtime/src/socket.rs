//! One connected client, as the hub sees it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arc_swap::ArcSwapOption;
use qm_kernel::{Principal, Timestamp};
use tokio_util::sync::CancellationToken;

use super::Room;
use super::message::Protocol;
use super::outbox::Outbox;
use super::topic::Form;

pub(super) type SocketId = u64;

pub(super) struct Socket {
    pub(super) id: SocketId,
    pub(super) protocol: Protocol,
    pub(super) ip: IpAddr,
    pub(super) outbox: Outbox,
    /// Fires when its user's sessions end.
    pub(super) ended: CancellationToken,
    /// Time at which its principal was set, in Unix milliseconds.
    admitted_ms: AtomicI64,
    principal: ArcSwapOption<Principal>,
    /// True for a Socket.IO client that asked for deltas; plain clients always get them.
    deltas: AtomicBool,
}

impl Socket {
    pub(super) fn new(id: SocketId, protocol: Protocol, ip: IpAddr) -> Self {
        let deltas = AtomicBool::new(protocol == Protocol::Plain);
        Self {
            id,
            protocol,
            ip,
            outbox: Outbox::new(),
            ended: CancellationToken::new(),
            admitted_ms: AtomicI64::new(0),
            principal: ArcSwapOption::empty(),
            deltas,
        }
    }

    pub(super) fn is_in(&self, room: &Room) -> bool {
        self.principal
            .load()
            .as_ref()
            .is_some_and(|principal| room.admits(principal))
    }

    pub(super) fn principal(&self) -> Option<Arc<Principal>> {
        self.principal.load_full()
    }

    /// True when this user has been on it since before `at`.
    pub(super) fn is_of(&self, user_id: &str, at: Timestamp) -> bool {
        let its = self.principal.load();
        its.as_ref()
            .is_some_and(|principal| *principal.user_id == *user_id)
            && self.admitted_ms.load(Ordering::Acquire) < at.ms()
    }

    pub(super) fn admit(&self, principal: Arc<Principal>, now: Timestamp) -> Option<Arc<Principal>> {
        self.admitted_ms.store(now.ms(), Ordering::Release);
        self.set_principal(Some(principal))
    }

    /// Sets the principal; returns the previous one.
    pub(super) fn set_principal(&self, principal: Option<Arc<Principal>>) -> Option<Arc<Principal>> {
        self.principal.swap(principal)
    }

    pub(super) fn take_deltas(&self, deltas: bool) {
        self.deltas.store(deltas, Ordering::Relaxed);
    }

    pub(super) fn form(&self) -> Form {
        if self.deltas.load(Ordering::Relaxed) {
            Form::Deltas(self.protocol)
        } else {
            Form::List
        }
    }
}
