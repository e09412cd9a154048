//! Places of data and how they meet: pure rules with their tests.

pub mod places;
