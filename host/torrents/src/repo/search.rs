//! Searching `torrent_snapshots`, but for the rows of engines that were deleted.
//!
//! Both databases fold the case of ASCII letters only (SQLite always, PostgreSQL in the collation of these columns). A
//! search with other letters therefore lets the database find the rows that hold its ASCII parts and compares those rows
//! here, in the alphabet's own case. Cost: one pass over the table; such a search also reads what it compares.

use qm_db::{DbError, FromRow, Tx, sql};

use crate::model::stored::SnapshotRow;

sql! {
    MATCHING = "SELECT id, engine_id, hash, name, state, progress, size, downloaded, uploaded, ratio, download_rate, \
        upload_rate, save_path, label, category_id, added_at, completed_at, captured_at FROM torrent_snapshots \
        WHERE (LOWER(name) LIKE $1 ESCAPE '\\' OR LOWER(label) LIKE $1 ESCAPE '\\' OR LOWER(save_path) LIKE $1 ESCAPE '\\' \
        OR hash LIKE $1 ESCAPE '\\') \
        AND engine_id NOT IN (SELECT id FROM torrent_engines WHERE deleted_at IS NOT NULL) \
        ORDER BY captured_at DESC, id LIMIT $2";
    CANDIDATES = "SELECT id, name, label, save_path FROM torrent_snapshots \
        WHERE (LOWER(name) LIKE $1 ESCAPE '\\' OR LOWER(label) LIKE $1 ESCAPE '\\' OR LOWER(save_path) LIKE $1 ESCAPE '\\') \
        AND engine_id NOT IN (SELECT id FROM torrent_engines WHERE deleted_at IS NOT NULL) \
        ORDER BY captured_at DESC, id";
    FIND = "SELECT id, engine_id, hash, name, state, progress, size, downloaded, uploaded, ratio, download_rate, \
        upload_rate, save_path, label, category_id, added_at, completed_at, captured_at FROM torrent_snapshots \
        WHERE id = $1";
}

/// The columns that a row is compared by.
#[derive(FromRow)]
struct Candidate {
    id: String,
    name: String,
    label: Option<String>,
    save_path: String,
}

/// The newest `limit` torrents that have `text` in their name, label, save path or hash, in any case.
pub async fn search(tx: &mut Tx, text: &str, limit: u64) -> Result<Vec<SnapshotRow>, DbError> {
    let pattern = pattern(text);
    if text.is_ascii() {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        return qm_db::all!(tx, SnapshotRow, MATCHING, &pattern, limit).await;
    }
    let wanted = folded(text);
    let candidates = qm_db::all!(tx, Candidate, CANDIDATES, &pattern).await?;
    let matching = candidates.iter().filter(|row| {
        let texts = [Some(&row.name), row.label.as_ref(), Some(&row.save_path)];
        texts
            .into_iter()
            .flatten()
            .any(|text| folded(text).contains(&wanted))
    });
    let mut rows = Vec::new();
    for candidate in matching.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        // Gone meanwhile, on a database whose readers see commits at once.
        rows.extend(qm_db::opt!(tx, SnapshotRow, FIND, &candidate.id).await?);
    }
    Ok(rows)
}

/// One form for all cases of a text, whatever stands beside its letters: `ΣΑΣ`, `σας` and `σασ` are alike.
fn folded(text: &str) -> String {
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// A LIKE pattern for texts that hold `text`: its wildcards stand for themselves, and a letter that the database may fold
/// wrongly, or not at all, for anything.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        match c {
            '%' | '_' | '\\' => pattern.extend(['\\', c]),
            c if c.is_ascii() => pattern.push(c.to_ascii_lowercase()),
            _ if pattern.ends_with('%') && !pattern.ends_with("\\%") => {}
            _ => pattern.push('%'),
        }
    }
    if !pattern.ends_with('%') || pattern.ends_with("\\%") {
        pattern.push('%');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_depend_on_what_stands_beside_a_letter() {
        assert_eq!(folded("ΣΑΣ"), folded("σας"));
        assert!(folded("ΟΔΥΣΣΕΑΣ ΙΙ").contains(&folded("οδυσσεας")));
        assert_eq!(folded("ÉTÉ"), "été");
    }

    #[test]
    fn wildcards_are_escaped_and_foreign_letters_left_open() {
        for (text, expected) in [
            ("aB", "%ab%"),
            ("100%", "%100\\%%"),
            ("a_b\\", "%a\\_b\\\\%"),
            ("é", "%"),
            ("aéßb", "%a%b%"),
            ("%é", "%\\%%"),
        ] {
            assert_eq!(pattern(text), expected, "{text}");
        }
    }
}
