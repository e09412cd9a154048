//! The routes as a client sees them.
