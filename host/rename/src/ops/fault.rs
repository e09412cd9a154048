//! Faults that tests cause between a step and its row in the journal.

use std::sync::Arc;

/// Moment of a run at which a server may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The rows of some steps are stored, none of the steps has begun.
    Noted,
    /// A step is done, and its row does not say so yet.
    Stepped,
    /// All steps whose rows are stored are done, and no row says so yet.
    Done,
}

/// Source of faults: none, outside of tests.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<dyn Fn(Moment) -> bool + Send + Sync>>);

impl Faults {
    #[cfg(test)]
    pub fn new(strikes: impl Fn(Moment) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(strikes)))
    }

    /// True if the server dies now.
    pub fn strike(&self, moment: Moment) -> bool {
        self.0.as_ref().is_some_and(|strikes| strikes(moment))
    }
}
