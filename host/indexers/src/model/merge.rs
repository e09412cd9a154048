//! One list out of what several indexers found.

use std::collections::HashSet;

use qm_ports::indexer::{Candidate, Release};

/// What counts as the same release: info-hash, else what the name says it is, else the name.
fn key(release: &Release) -> String {
    if let Some(hash) = &release.info_hash {
        return format!("hash:{}", hash.to_lowercase());
    }
    match qm_release::identity(&qm_release::parse(&release.title)) {
        Some(identity) => format!("is:{identity}"),
        None => format!("name:{}", release.title.trim().to_lowercase()),
    }
}

/// Candidates in the order of their indexers, each with the fewest seeders its indexer is searched for: without those that
/// have fewer, each once (the first stays), the one with most seeders first.
pub fn merge(found: impl IntoIterator<Item = (Candidate, Option<i64>)>) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Candidate> = Vec::new();
    for (candidate, least) in found {
        let release = &candidate.release;
        let seeders = release.seeders.map(i64::from);
        let too_few = matches!((seeders, least), (Some(seeders), Some(least)) if seeders < least);
        if release.title.trim().is_empty() || too_few {
            continue;
        }
        if seen.insert(key(release)) {
            kept.push(candidate);
        }
    }
    kept.sort_by_key(|candidate| std::cmp::Reverse(candidate.release.seeders.map_or(-1, i64::from)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(indexer: &str, title: &str, hash: Option<&str>, seeders: Option<u32>) -> Candidate {
        Candidate {
            indexer_id: indexer.into(),
            indexer_name: indexer.into(),
            release: Release {
                title: title.into(),
                info_hash: hash.map(str::to_owned),
                seeders,
                ..Release::default()
            },
        }
    }

    #[test]
    fn each_release_stays_once_and_the_first_wins() {
        let found = [
            (
                candidate("a", "Harbor.Nine.S01E02.720p.WEB-X", None, Some(3)),
                None,
            ),
            (
                candidate("b", "Harbor Nine S01E02 1080p WEB-Y", None, Some(90)),
                None,
            ),
            (candidate("a", "One", Some("AB"), None), None),
            (candidate("b", "Two", Some("ab"), Some(4)), None),
            (candidate("a", "  ", None, Some(99)), None),
            (candidate("a", "Few", None, Some(1)), Some(2)),
            (candidate("a", "Unknown", None, None), Some(2)),
            (candidate("b", "Best", None, Some(8)), Some(2)),
        ];
        let merged = merge(found);
        let titles: Vec<&str> = merged.iter().map(|one| one.release.title.as_str()).collect();
        assert_eq!(
            titles,
            ["Best", "Harbor.Nine.S01E02.720p.WEB-X", "One", "Unknown"]
        );
    }
}
