//! Commands of torrents that exist: for one, for many at once, and for rules.
//!
//! One table ([`model::kinds`]) has every command with its permission, the ability that a client needs for it, and its parameters.
//! Routes of single torrents, the bulk route and the actions of rules are made from it, so that what people can do rules can do.
//!
//! A client that lacks an ability is not asked: the answer is 501 with the code `unsupported.<capability>`. Names of files and
//! folders are judged like paths, and files whose data other torrents use are not renamed. A client hears of no directory that
//! was not judged right before.
//!
//! Many torrents are worked on in parts of 50; between two parts every other bulk of that engine has its turn, and
//! commands for single torrents never wait for a bulk. More than 200 are a hosted job, whose user is judged
//! again while it runs.
//!
//! Own state: the bulk jobs of this process that run or ended last, behind one lock, and the turns of engines behind another.
//! Nothing is awaited under either; a turn may be held while a client is asked, and a bulk job begins alone while it is stored.
//! Bounds: [`model::MOST`] torrents of a bulk, 8 bulk jobs at once and 2 of one user; results of the last 10 that ended.
//!
//! Events: none; a bulk job tells its progress.

mod area;
mod dto;
mod error;
mod model;
mod routes;
mod service;

pub use area::AREA;
use routes::routes;
