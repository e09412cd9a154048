//! The memory of an instance, all of it: what it has itself and what the host holds for it. One account an instance, and a
//! budget all accounts share.
//!
//! Whoever holds bytes for a guest takes a [`Charge`] first and keeps it beside them; dropped, it gives them back. What is
//! being lifted out of a guest is bounded by what its account has left (`runtime`), so a copy never outgrows it either.
//!
//! Bounds: 128 MiB an account; 1 GiB over all, a quarter of it for first-party plugins alone.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use qm_lanes::IgnorePoison;
use wasmtime::{Error, ResourceLimiter, Result};

/// Table elements of one instance.
const TABLE_ELEMENTS: usize = 50_000;
/// Bytes that one of them takes.
const TABLE_ELEMENT: usize = size_of::<usize>();
/// Bytes that a handle costs beyond what it holds: its place in the tables, its box, its list of children.
pub const HANDLE: usize = 256;
/// An account that held more than this through the host has left holes in the heap worth giving back.
const WORTH_TRIMMING: usize = 1 << 20;
/// Holders that a refusal names.
const NAMED: usize = 3;

/// Bytes that all instances together have taken of their budget.
pub struct MemoryBudget {
    used: AtomicUsize,
    /// The part of `used` that is not first-party.
    guests: AtomicUsize,
    total: usize,
    accounts: Mutex<Vec<Weak<Account>>>,
    /// Gives free memory of the heap back to the system, soon.
    trim_soon: fn(),
}

impl MemoryBudget {
    /// `trim_soon` is called when an account ends that left holes in the heap worth giving back.
    pub fn new(total: usize, trim_soon: fn()) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
            total,
            accounts: Mutex::default(),
            trim_soon,
        })
    }

    /// Bytes that plugins of others may take together; the rest is for first-party ones.
    fn for_guests(&self) -> usize {
        self.total - self.total / 4
    }

    fn take(&self, bytes: usize, first_party: bool) -> bool {
        if !take(&self.used, bytes, self.total) {
            return false;
        }
        let fits = first_party || take(&self.guests, bytes, self.for_guests());
        if !fits {
            self.used.fetch_sub(bytes, Relaxed);
        }
        fits
    }

    fn give(&self, bytes: usize, first_party: bool) {
        self.used.fetch_sub(bytes, Relaxed);
        if !first_party {
            self.guests.fetch_sub(bytes, Relaxed);
        }
    }

    fn left(&self, first_party: bool) -> usize {
        let all = self.total.saturating_sub(self.used.load(Relaxed));
        if first_party {
            all
        } else {
            all.min(self.for_guests().saturating_sub(self.guests.load(Relaxed)))
        }
    }

    fn accounts(&self) -> MutexGuard<'_, Vec<Weak<Account>>> {
        self.accounts.lock().ignore_poison()
    }

    /// A sentence on the plugins that hold the most, for the one that got nothing.
    fn holders(&self) -> String {
        let mut holders: Vec<_> = self
            .accounts()
            .iter()
            .filter_map(Weak::upgrade)
            .map(|account| (account.used.load(Relaxed), account.who.clone()))
            .collect();
        holders.sort_unstable_by(|a, b| b.cmp(a));
        let named = holders.iter().take(NAMED);
        let named: Vec<_> = named
            .map(|(bytes, who)| format!("{who} {} MiB", bytes >> 20))
            .collect();
        named.join(", ")
    }

    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

/// Adds `bytes` to `used` unless that would be more than `max`.
fn take(used: &AtomicUsize, bytes: usize, max: usize) -> bool {
    let sum = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= max);
    used.try_update(Relaxed, Relaxed, sum).is_ok()
}

/// Holder of an account.
pub struct Holder<'a> {
    pub plugin: &'a str,
    /// Id of what is configured; empty when the plugin serves all.
    pub owner: &'a str,
    pub lane: &'a str,
    /// True where it may take of the reserve.
    pub first_party: bool,
}

/// The account of one instance.
pub struct Account {
    who: String,
    first_party: bool,
    cap: usize,
    used: AtomicUsize,
    /// The part of `used` that the host holds, and the most it ever was.
    held: AtomicUsize,
    peak: AtomicUsize,
    /// It ended badly: what it left is not worth keeping warm.
    ended_badly: AtomicBool,
    /// The last refusal of the call under way, as a sentence.
    refusal: Mutex<Option<String>>,
    shared: Arc<MemoryBudget>,
    /// Shown in `GET /api/plugins`: the sum over the instances of a lane.
    shown: Arc<AtomicUsize>,
}

impl Account {
    pub fn new(
        holder: &Holder<'_>,
        cap: usize,
        shared: Arc<MemoryBudget>,
        shown: Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let &Holder {
            plugin,
            owner,
            lane,
            first_party,
        } = holder;
        let who = if owner.is_empty() {
            format!("`{plugin}` ({lane})")
        } else {
            format!("`{plugin}` ({lane} of `{owner}`)")
        };
        let account = Arc::new(Self {
            who,
            first_party,
            cap,
            used: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            ended_badly: AtomicBool::new(false),
            refusal: Mutex::default(),
            shared: shared.clone(),
            shown,
        });
        let mut all = shared.accounts();
        all.retain(|account| account.strong_count() > 0);
        all.push(Arc::downgrade(&account));
        drop(all);
        account
    }

    fn refusal(&self) -> MutexGuard<'_, Option<String>> {
        self.refusal.lock().ignore_poison()
    }

    fn take(&self, bytes: usize) -> bool {
        if !take(&self.used, bytes, self.cap) {
            *self.refusal() = Some(format!("it ran out of its {} MiB of memory", self.cap >> 20));
            return false;
        }
        if !self.shared.take(bytes, self.first_party) {
            self.used.fetch_sub(bytes, Relaxed);
            *self.refusal() = Some(format!(
                "the {} MiB of memory for all plugins are taken; most of it by {}",
                self.shared.total >> 20,
                self.shared.holders()
            ));
            return false;
        }
        self.shown.fetch_add(bytes, Relaxed);
        true
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
        self.shared.give(bytes, self.first_party);
        self.shown.fetch_sub(bytes, Relaxed);
    }

    /// Takes `bytes` that the host is about to hold for the guest.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, OutOfMemory> {
        let mut charge = Charge {
            account: self.clone(),
            bytes: 0,
        };
        charge.grow(bytes)?;
        Ok(charge)
    }

    /// Bytes that may still be taken.
    pub fn left(&self) -> usize {
        let own = self.cap.saturating_sub(self.used.load(Relaxed));
        own.min(self.shared.left(self.first_party))
    }

    /// A call begins: what was refused before is forgotten.
    pub fn begin_call(&self) {
        *self.refusal() = None;
    }

    /// Why the call under way was refused memory, if it was.
    pub fn refused(&self) -> Option<String> {
        self.refusal().clone()
    }

    /// The instance trapped or was cut off: whatever it made the host allocate goes back to the system.
    pub fn ended_badly(&self) {
        self.ended_badly.store(true, Relaxed);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.ended_badly.load(Relaxed) || self.peak.load(Relaxed) > WORTH_TRIMMING {
            (self.shared.trim_soon)();
        }
    }
}

/// A guest may not take more. As the error of an import it ends the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct OutOfMemory;

/// Bytes the host holds for a guest, until it is dropped.
pub struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

impl Charge {
    /// Takes `more` bytes.
    pub fn grow(&mut self, more: usize) -> Result<(), OutOfMemory> {
        if !self.account.take(more) {
            return Err(OutOfMemory);
        }
        self.bytes += more;
        let held = self.account.held.fetch_add(more, Relaxed) + more;
        self.account.peak.fetch_max(held, Relaxed);
        Ok(())
    }

    /// Holds `bytes` from now on, more or less than before.
    pub fn resize(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        let less = self.bytes - bytes;
        self.bytes = bytes;
        self.account.held.fetch_sub(less, Relaxed);
        self.account.give(less);
        Ok(())
    }

    /// The account it is charged to.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.held.fetch_sub(self.bytes, Relaxed);
        self.account.give(self.bytes);
    }
}

/// Charges the memories and tables of one store to its account. What they took goes back when it is dropped.
pub struct MemoryLimiter {
    account: Arc<Account>,
    used: usize,
    /// The last growth that was allowed, for the case that the system then has no memory to give.
    last: usize,
}

impl MemoryLimiter {
    pub fn new(account: Arc<Account>) -> Self {
        Self {
            account,
            used: 0,
            last: 0,
        }
    }

    fn grow(&mut self, more: usize) -> bool {
        let fits = self.account.take(more);
        if fits {
            self.used += more;
            self.last = more;
        }
        fits
    }

    fn undo(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.used -= last;
        self.account.give(last);
        *self.account.refusal() = Some("the system had no more memory for it".to_owned());
    }
}

impl ResourceLimiter for MemoryLimiter {
    /// False makes `memory.grow` answer -1, which a plugin can handle; an error would trap it.
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(self.grow(desired.saturating_sub(current)))
    }

    fn memory_grow_failed(&mut self, _: Error) -> Result<()> {
        self.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let more = desired.saturating_sub(current).saturating_mul(TABLE_ELEMENT);
        Ok(desired <= TABLE_ELEMENTS && self.grow(more))
    }

    fn table_grow_failed(&mut self, _: Error) -> Result<()> {
        self.undo();
        Ok(())
    }

    fn instances(&self) -> usize {
        64
    }

    fn tables(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        8
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        self.account.give(self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(
        plugin: &str,
        cap: usize,
        budget: &Arc<MemoryBudget>,
        shown: &Arc<AtomicUsize>,
    ) -> Arc<Account> {
        let holder = Holder {
            plugin,
            owner: "",
            lane: "sync",
            first_party: plugin == "ours",
        };
        Account::new(&holder, cap, budget.clone(), shown.clone())
    }

    #[test]
    fn a_cap_each_and_a_budget_for_all() {
        let budget = MemoryBudget::new(400, || {});
        let shown = Arc::new(AtomicUsize::new(0));
        let first_account = account("first", 200, &budget, &shown);
        let mut first = MemoryLimiter::new(first_account.clone());
        let second_account = account("second", 200, &budget, &Arc::default());
        let mut second = MemoryLimiter::new(second_account.clone());
        assert!(first.memory_growing(0, 150, None).unwrap());
        assert!(!first.memory_growing(150, 201, None).unwrap(), "over its own cap");
        assert!(first_account.refused().unwrap().contains("ran out of its"));
        assert!(!second.memory_growing(0, 151, None).unwrap(), "over the budget");
        let why = second_account.refused().unwrap();
        assert!(why.contains("`first` (sync)"), "{why}");
        assert!(second.memory_growing(0, 150, None).unwrap());
        second.memory_grow_failed(Error::msg("no memory")).unwrap();
        assert_eq!((budget.used(), shown.load(Relaxed)), (150, 150));
        drop(first);
        assert_eq!((budget.used(), shown.load(Relaxed)), (0, 0));
    }

    #[test]
    fn the_reserve_is_for_first_party_plugins_alone() {
        let budget = MemoryBudget::new(400, || {});
        let guest = account("guest", 400, &budget, &Arc::default());
        let ours = account("ours", 400, &budget, &Arc::default());
        assert!(guest.charge(301).is_err(), "a quarter is not for it");
        let held = guest.charge(300).unwrap();
        assert_eq!((guest.left(), ours.left()), (0, 100));
        let kept = ours.charge(100).unwrap();
        assert!(ours.charge(1).is_err());
        drop(held);
        assert_eq!(guest.left(), 300);
        assert!(
            guest.charge(301).is_err(),
            "what is ours does not lessen its part"
        );
        drop(kept);
    }

    #[test]
    fn what_the_host_holds_counts_beside_what_the_guest_has() {
        let budget = MemoryBudget::new(1000, || {});
        let shown = Arc::new(AtomicUsize::new(0));
        let one = account("one", 100, &budget, &shown);
        let other = account("one", 100, &budget, &shown);
        let mut limiter = MemoryLimiter::new(one.clone());
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        let mut body = one.charge(30).unwrap();
        assert!(body.grow(11).is_err());
        assert!(!limiter.memory_growing(60, 71, None).unwrap());
        let beside = other.charge(50).unwrap();
        assert_eq!(shown.load(Relaxed), 140, "the stores of one lane add up");
        body.resize(5).unwrap();
        assert_eq!((body.bytes(), one.left()), (5, 35));
        drop((body, limiter));
        assert_eq!((one.left(), shown.load(Relaxed)), (100, 50));
        drop(beside);
        assert_eq!((budget.used(), shown.load(Relaxed)), (0, 0));
    }
}
