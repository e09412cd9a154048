//! Shows: folders right below a library's directory.

use qm_kernel::Timestamp;
use qm_media_names::naming::tag::Ids;

/// A show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    pub provider_a_id: Option<String>,
    pub provider_b_id: Option<String>,
    /// Id that the `tvshow.nfo` in its folder gave at the last scan.
    pub nfo_titledb_id: Option<String>,
    pub canonical_key: String,
    pub episode_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Show {
    /// True if it is known which show it is.
    pub fn is_identified(&self) -> bool {
        self.titledb_id.is_some() || self.provider_a_id.is_some() || self.provider_b_id.is_some()
    }

    /// Takes the ids in the name of its folder. If one differs from a known id, it is another show, of which nothing else is
    /// known. True in that case.
    pub fn tag(&mut self, ids: Ids) -> bool {
        let differs = |known: &Option<String>, said: &Option<String>| matches!((known, said), (Some(known), Some(said)) if known != said);
        let is_other = differs(&self.titledb_id, &ids.titledb)
            || differs(&self.provider_a_id, &ids.provider_a)
            || differs(&self.provider_b_id, &ids.provider_b);
        if is_other {
            (self.titledb_id, self.provider_a_id, self.provider_b_id) = (None, None, None);
        }
        let before = self.titledb_id.clone();
        self.titledb_id = ids.titledb.or(self.titledb_id.take());
        self.provider_a_id = ids.provider_a.or(self.provider_a_id.take());
        self.provider_b_id = ids.provider_b.or(self.provider_b_id.take());
        is_other || before != self.titledb_id
    }
}
