//! qm-net
