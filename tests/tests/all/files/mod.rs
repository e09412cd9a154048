//! The file manager: hostile paths, crashes, faults of the disk, streams, and what is told meanwhile.

mod crash;
mod faults;
mod hostile;
mod lanes;
mod live;
mod media;
mod names;
mod places;
mod race;
pub mod site;
mod table;
