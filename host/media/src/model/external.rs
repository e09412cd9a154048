//! Ids of items in outside catalogues.

/// Source name of ids in the data set of titles.
pub const TITLEDB: &str = "titledb";

/// The provider whose ids shows have.
pub const PROVIDER_A: &str = "provider_a";
/// Second provider of ids for shows.
pub const PROVIDER_B: &str = "provider_b";

/// An id of an item at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalId {
    pub id: String,
    pub item_id: String,
    pub provider: String,
    pub value: String,
    /// URL of its page at the provider.
    pub url: Option<String>,
    /// True if the id was found by the title, year and episode of the item; it is deleted when these change.
    pub is_derived: bool,
}

/// URL of a title's page for people; `None`: the provider has no known pages. An episode and a series count as `is_show`.
pub fn page(provider: &str, id: &str, is_show: bool) -> Option<String> {
    match provider {
        TITLEDB => Some(format!("https://www.imdb.com/title/{id}/")),
        PROVIDER_A if is_show => Some(format!("https://www.themoviedb.org/tv/{id}")),
        PROVIDER_A => Some(format!("https://www.themoviedb.org/movie/{id}")),
        PROVIDER_B => Some(format!("https://thetvdb.com/?id={id}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_pages() {
        for (provider, is_show, expected) in [
            ("titledb", false, Some("https://www.imdb.com/title/1/")),
            ("provider_a", false, Some("https://www.themoviedb.org/movie/1")),
            ("provider_a", true, Some("https://www.themoviedb.org/tv/1")),
            ("provider_b", true, Some("https://thetvdb.com/?id=1")),
            ("librarian", true, None),
        ] {
            assert_eq!(page(provider, "1", is_show).as_deref(), expected, "{provider}");
        }
    }
}
