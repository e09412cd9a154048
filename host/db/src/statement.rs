//! Statements as constants. Each one registers itself, so that one test prepares every statement of the program on
//! both databases; the query macros take nothing else, so none can hide.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// One SQL text for both databases. Made by [`sql!`](crate::sql).
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    pub text: &'static str,
}

/// Entry of a statement in the registry.
pub struct Registered {
    /// Module path and name of the constant.
    pub name: &'static str,
    pub text: fn() -> String,
}

/// Every statement linked into this program.
#[linkme::distributed_slice]
#[allow(unsafe_code, reason = "the registry is a section of the linked program")]
pub static STATEMENTS: [Registered];

/// An INSERT of many rows at once, run by [`batch!`](crate::batch), or a SELECT by many keys, run by [`each!`](crate::each).
/// Made by [`bulk!`](crate::bulk).
///
/// Rows go in chunks of fixed sizes, so that four texts are prepared at most, whatever the number of rows.
pub struct Bulk {
    head: &'static str,
    columns: usize,
    tail: &'static str,
    texts: [OnceLock<String>; SIZES.len()],
}

/// Rows in one statement. 64 rows of 20 columns stay far below both databases' limit of parameters.
const SIZES: [usize; 4] = [64, 16, 4, 1];

impl Bulk {
    /// `head` runs up to and including `VALUES`, `tail` is what follows the rows.
    pub const fn new(head: &'static str, columns: usize, tail: &'static str) -> Self {
        Self {
            head,
            columns,
            tail,
            texts: [const { OnceLock::new() }; SIZES.len()],
        }
    }

    /// Takes the next chunk off `rows`, with the text for it; `None` when none are left.
    #[doc(hidden)]
    pub fn next<'r, T>(&self, rows: &mut &'r [T]) -> Option<(&'r [T], &str)> {
        let (cell, size) = self
            .texts
            .iter()
            .zip(SIZES)
            .find(|(_, size)| *size <= rows.len())?;
        let (chunk, rest) = rows.split_at(size);
        *rows = rest;
        Some((chunk, cell.get_or_init(|| self.text(size))))
    }

    /// The statement for `rows` rows.
    pub fn text(&self, rows: usize) -> String {
        let mut text = String::from(self.head);
        for row in 0..rows {
            text.push_str(if row == 0 { " (" } else { ", (" });
            for column in 0..self.columns {
                let separator = if column == 0 { "" } else { ", " };
                let _ = write!(text, "{separator}${}", row * self.columns + column + 1);
            }
            text.push(')');
        }
        text.push(' ');
        text.push_str(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_numbers_its_parameters_and_chunks_its_rows() {
        let bulk = Bulk::new("INSERT INTO t (a, b) VALUES", 2, "ON CONFLICT DO NOTHING");
        assert_eq!(
            bulk.text(2),
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING"
        );
        let rows = vec![(); 64 + 8 + 8 + 3];
        let mut rest = rows.as_slice();
        let mut sizes = Vec::new();
        while let Some((chunk, _)) = bulk.next(&mut rest) {
            sizes.push(chunk.len());
        }
        assert_eq!(sizes, [64, 16, 1, 1, 1]);
    }
}
