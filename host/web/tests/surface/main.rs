//! The whole surface over a real listener: every rule of the contract's conventions as a table.

mod access;
mod answers;
mod bodies;
mod document;
mod hostile;
mod support;
mod uploads;
