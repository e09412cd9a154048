//! Accounts: who may call what, sign-ins, and tokens that live on after their user has lost power.

mod access;
mod agreed;
mod logins;
mod power;
