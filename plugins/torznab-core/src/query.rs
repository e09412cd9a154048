//! Parameters of the requests.

use crate::model::Query;

/// Parameters of a request for an indexer's capabilities, without its key.
pub fn caps_params() -> Vec<(&'static str, String)> {
    vec![("t", "caps".to_owned())]
}

/// The parameters of a search, without its key. One page, and whatever order the indexer likes.
pub fn search_params(query: &Query) -> Vec<(&'static str, String)> {
    let term = term(&query.term);
    let mut params = Vec::new();
    if query.tv_search {
        params.push(("t", "tvsearch".to_owned()));
        params.push(("q", term));
        params.extend(query.season.map(|season| ("season", season.to_string())));
        params.extend(query.episode.map(|episode| ("ep", episode.to_string())));
    } else {
        params.push(("t", "search".to_owned()));
        let whole = match (query.season, query.episode) {
            (Some(season), Some(episode)) => format!("{term} S{season:02}E{episode:02}"),
            _ => term,
        };
        params.push(("q", whole.trim_start().to_owned()));
    }
    if !query.categories.is_empty() {
        let ids: Vec<String> = query.categories.iter().map(u32::to_string).collect();
        params.push(("cat", ids.join(",")));
    }
    params
}

/// A term as trackers understand it: apostrophes make many of them find nothing.
pub fn term(text: &str) -> String {
    let bare: String = text
        .chars()
        .filter(|letter| !matches!(letter, '\'' | '\u{2019}' | '`'))
        .collect();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &Query) -> String {
        let pairs = search_params(query).into_iter();
        pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("&")
    }

    #[test]
    fn apostrophes_and_blanks_go_and_nothing_else() {
        assert_eq!(
            term("  The  Harbour\u{2019}s `Nine'\t(2024) "),
            "The Harbours Nine (2024)"
        );
        assert_eq!(term(""), "");
    }

    #[test]
    fn an_episode_is_asked_for_by_number_or_by_name() {
        let query = Query {
            term: "Harbor's Nine".to_owned(),
            season: Some(1),
            episode: Some(12),
            categories: vec![5000, 5030],
            tv_search: true,
        };
        assert_eq!(
            params(&query),
            "t=tvsearch&q=Harbors Nine&season=1&ep=12&cat=5000,5030"
        );
        let plain = Query {
            tv_search: false,
            ..query
        };
        assert_eq!(params(&plain), "t=search&q=Harbors Nine S01E12&cat=5000,5030");
        let season = Query {
            episode: None,
            categories: Vec::new(),
            ..plain
        };
        assert_eq!(params(&season), "t=search&q=Harbors Nine");
        let season = Query {
            tv_search: true,
            ..season
        };
        assert_eq!(params(&season), "t=tvsearch&q=Harbors Nine&season=1");
        assert_eq!(
            params(&Query {
                season: Some(3),
                episode: Some(104),
                ..Query::default()
            }),
            "t=search&q=S03E104"
        );
    }
}
