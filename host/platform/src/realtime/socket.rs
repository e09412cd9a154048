//! One connected client as the hub sees it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use qm_kernel::Principal;

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
    principal: ArcSwapOption<Principal>,
    /// A Socket.IO client that asked for deltas; plain clients always get them.
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

    /// Gives the one before.
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
