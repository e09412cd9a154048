//! qm-tests
