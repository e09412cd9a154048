//! Jobs: their routes, and what a kill or a stop does to one that runs.

mod crash;
mod routes;
