//! qm-db
