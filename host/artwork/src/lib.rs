//! Pictures of films, episodes, shows and seasons: posters, backgrounds, logos and so on.
//!
//! A picture is a row with a file. The file lies beside the media, where Kodi, Jellyfin, Emby and Plex have it, and is found after a
//! scan saw a change there, and when somebody asks; or it was given by a person or a provider and lies in the store, a hidden folder of the first root. Of each
//! type at most one is selected. Pictures are served from a cache in the data directory, without texts and camera data, in
//! their own size or a smaller one.
//!
//! Subtitles beside the files of items are rows too; their language and flags are read from their names. Tracks in the files
//! are the library's, which has them from its looks into files. The library's lists ask this area for pictures and subtitles
//! (`qm_ports::beside`); triggers of the database count the rows of each item for its filters.
//!
//! Invariants: nothing is decoded before its header was read and its memory was judged (`model::picture`); every path is
//! walked by `qm_confined`; a file beside media is never written, renamed or removed; a file of the store is noted before it is
//! written, and removed only if it was noted here; nothing is fetched but from the provider's host of pictures, without its key.
//! Bounds: 10 MiB a given picture, 20 MiB one beside media, 56 MiB to decode one, one at a time; twenty given ones an owner and type;
//! 512 MiB of cache. Lanes: `lanes`.
//!
//! The library has pictures and subtitles of downloads looked for (`service::help`), for the person who set it up.
//!
//! Events: none. Action of automation: `media_fetch_artwork`.

mod area;
mod dto;
mod error;
mod lanes;
mod model;
mod ops;
mod repo;
mod routes;
mod service;

pub use area::AREA;
use routes::routes;

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
