//! qm-testkit
