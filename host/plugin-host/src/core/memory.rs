//! The memory of an instance: a cap of its own and a share of a budget all instances have together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use wasmtime::{Error, ResourceLimiter, Result};

/// Table elements of one instance.
const TABLE_ELEMENTS: usize = 50_000;

/// What all instances together have taken of their budget, in bytes.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    used: AtomicUsize,
    total: usize,
}

impl MemoryBudget {
    pub(crate) fn new(total: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            total,
        })
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.total);
        self.used.try_update(Relaxed, Relaxed, taken).is_ok()
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

/// Accounts for one store. What it took goes back when it is dropped.
pub(crate) struct MemoryLimiter {
    cap: usize,
    used: usize,
    /// Growth refused in the call under way.
    pub(crate) denied: bool,
    budget: Arc<MemoryBudget>,
    /// Shown in `GET /api/plugins`.
    shown: Arc<AtomicUsize>,
    /// The last growth that was allowed, for the case that the system then has no memory to give.
    last: usize,
}

impl MemoryLimiter {
    pub(crate) fn new(cap: usize, budget: Arc<MemoryBudget>, shown: Arc<AtomicUsize>) -> Self {
        shown.store(0, Relaxed);
        Self {
            cap,
            used: 0,
            denied: false,
            budget,
            shown,
            last: 0,
        }
    }
}

impl ResourceLimiter for MemoryLimiter {
    /// False makes `memory.grow` answer -1, which a plugin can handle; an error would trap it.
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let more = desired.saturating_sub(current);
        let fits = self.used.saturating_add(more) <= self.cap && self.budget.take(more);
        if fits {
            self.used += more;
            self.last = more;
            self.shown.store(self.used, Relaxed);
        } else {
            self.denied = true;
        }
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, _: Error) -> Result<()> {
        self.used -= self.last;
        self.budget
            .used
            .fetch_sub(std::mem::take(&mut self.last), Relaxed);
        self.shown.store(self.used, Relaxed);
        self.denied = true;
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
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
        self.budget.used.fetch_sub(self.used, Relaxed);
        self.shown.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_each_and_a_budget_for_all() {
        let budget = MemoryBudget::new(300);
        let shown = Arc::new(AtomicUsize::new(0));
        let mut first = MemoryLimiter::new(200, budget.clone(), shown.clone());
        let mut second = MemoryLimiter::new(200, budget.clone(), Arc::default());
        assert!(first.memory_growing(0, 150, None).unwrap());
        assert!(!first.memory_growing(150, 201, None).unwrap(), "over its own cap");
        assert!(first.denied);
        assert!(!second.memory_growing(0, 151, None).unwrap(), "over the budget");
        assert!(second.memory_growing(0, 150, None).unwrap());
        second.memory_grow_failed(Error::msg("no memory")).unwrap();
        assert_eq!((budget.used(), shown.load(Relaxed)), (150, 150));
        drop(first);
        assert_eq!((budget.used(), shown.load(Relaxed)), (0, 0));
    }
}
