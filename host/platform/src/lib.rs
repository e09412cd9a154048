//! qm-platform
