//! Merging the answers of several indexers into one result.

use std::collections::HashSet;

use qm_ports::indexer::Candidate;

use super::indexer::Indexer;

/// Key that equal releases share: the info-hash, or the parsed release, or the title.
pub fn key(candidate: &Candidate) -> String {
    let release = &candidate.release;
    if let Some(hash) = &release.info_hash {
        return format!("hash:{}", hash.to_lowercase());
    }
    let title = release.title.trim();
    qm_release::identity(&qm_release::parse(title))
        .unwrap_or_else(|| format!("title:{}", title.to_lowercase()))
}

/// True when a release passes the indexer's own rules: it has a title, and enough seeders if their number is
/// known.
pub fn passes(indexer: &Indexer, release: &qm_ports::indexer::Release) -> bool {
    let enough = match (indexer.min_seeders, release.seeders) {
        (Some(least), Some(seeders)) => seeders >= least,
        _ => true,
    };
    enough && !release.title.trim().is_empty()
}

/// Merges candidates: each release once, from the first indexer that lists it; most seeders first.
pub fn merge(candidates: impl IntoIterator<Item = Candidate>) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let mut merged: Vec<Candidate> = candidates
        .into_iter()
        .filter(|candidate| seen.insert(key(candidate)))
        .collect();
    let seeders = |candidate: &Candidate| candidate.release.seeders.map_or(-1, i64::from);
    merged.sort_by_key(|candidate| std::cmp::Reverse(seeders(candidate)));
    merged
}

#[cfg(test)]
mod tests {
    use qm_ports::indexer::Release;

    use super::*;

    fn listed(indexer: &str, title: &str, seeders: Option<u32>, hash: Option<&str>) -> Candidate {
        Candidate {
            indexer_id: indexer.to_owned(),
            indexer_name: indexer.to_owned(),
            release: Release {
                title: title.to_owned(),
                seeders,
                info_hash: hash.map(str::to_owned),
                ..Release::default()
            },
        }
    }

    #[test]
    fn the_first_that_lists_a_release_has_it_and_most_seeders_come_first() {
        let merged = merge([
            listed("a", "Orchard.Lane.S02E07.1080p.WEB-DL-KESTREL", Some(3), None),
            listed("b", "Orchard Lane S02E07 720p HDTV-OTHER", Some(90), None),
            listed("b", "Something else", None, Some("AB")),
            listed("c", "Renamed", Some(7), Some("ab")),
            listed("c", "something else ", Some(9), None),
            listed("d", "Something Else", Some(11), None),
        ]);
        let seen: Vec<_> = merged
            .iter()
            .map(|one| (one.indexer_id.as_str(), one.release.seeders))
            .collect();
        assert_eq!(seen, [("c", Some(9)), ("a", Some(3)), ("b", None)]);
    }
}
