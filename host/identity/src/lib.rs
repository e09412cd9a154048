//! qm-identity
