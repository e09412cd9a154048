//! Locks after a panic. A thread that panics while it holds a lock "poisons" it: the standard library then answers everybody
//! with an error. This server goes on instead: no holder leaves what it locks half changed, and a panic of one request or one
//! loop must not end all the others.

use std::sync::PoisonError;

/// Answers of locks and of condition variables, without the news that an earlier holder panicked.
///
/// ```
/// use std::sync::{Mutex, RwLock};
///
/// use qm_lanes::IgnorePoison;
///
/// let (count, name) = (Mutex::new(1), RwLock::new("a"));
/// *count.lock().ignore_poison() += 1;
/// assert_eq!((*count.lock().ignore_poison(), *name.read().ignore_poison()), (2, "a"));
/// ```
pub trait IgnorePoison<T> {
    /// The guard, or whatever else the lock answered.
    fn ignore_poison(self) -> T;
}

impl<T> IgnorePoison<T> for Result<T, PoisonError<T>> {
    fn ignore_poison(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_lock_is_taken_after_its_holder_panicked() {
        let count = Arc::new(Mutex::new(1));
        let held = count.clone();
        let holder = std::thread::spawn(move || {
            let mut count = held.lock().unwrap();
            *count = 2;
            panic!("while it holds the lock");
        });
        assert!(holder.join().is_err());
        assert!(count.lock().is_err(), "it is poisoned");
        assert_eq!(*count.lock().ignore_poison(), 2);
        assert_eq!(Arc::into_inner(count).unwrap().into_inner().ignore_poison(), 2);
    }
}
