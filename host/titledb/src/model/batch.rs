//! Batches of rows between a file and a table.

use super::file::{Source, Table};

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Integer(i64),
    /// Byte range in the text of the batch.
    Text(u32, u32),
}

/// Rows of one table. Their texts are concatenated, so that a row needs no allocation.
#[derive(Clone, Debug)]
pub struct Batch {
    pub table: Table,
    cells: Vec<Cell>,
    text: String,
}

impl Batch {
    pub fn new(table: Table) -> Self {
        Self {
            table,
            cells: Vec::new(),
            text: String::new(),
        }
    }

    pub fn columns(&self) -> usize {
        self.table.source().columns.len()
    }

    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Size of the texts in bytes.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub fn text(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }

    fn push_text(&mut self, text: &str) -> Cell {
        let start = self.text.len() as u32;
        // PostgreSQL's TEXT cannot hold NUL.
        if text.contains('\0') {
            self.text.extend(text.chars().filter(|letter| *letter != '\0'));
        } else {
            self.text.push_str(text);
        }
        Cell::Text(start, self.text.len() as u32)
    }

    /// Adds a line. `places` holds the field of each table column. A refused row leaves nothing behind.
    pub fn push(&mut self, source: &Source, fields: &[&str], places: &[Option<usize>]) -> Result<(), String> {
        let (cells, text) = (self.cells.len(), self.text.len());
        let read = self.read(source, fields, places);
        if read.is_err() {
            self.cells.truncate(cells);
            self.text.truncate(text);
        }
        read
    }

    fn read(&mut self, source: &Source, fields: &[&str], places: &[Option<usize>]) -> Result<(), String> {
        use super::file::{Shape, number_of};
        for (column, place) in source.columns.iter().zip(places) {
            let field = place.and_then(|place| fields.get(place)).copied();
            let value = field.filter(|field| !field.is_empty() && *field != "\\N");
            let Some(value) = value else {
                if column.required {
                    return Err(format!("{} is missing", column.name));
                }
                self.cells.push(Cell::Null);
                continue;
            };
            let odd = || {
                let shown: String = value.chars().take(40).collect();
                format!("{} is `{shown}`", column.name)
            };
            let cell = match column.shape {
                Shape::Title => Cell::Integer(number_of(value, "tt").ok_or_else(odd)?),
                Shape::Person => Cell::Integer(number_of(value, "nm").ok_or_else(odd)?),
                Shape::Integer => match value.parse::<i32>() {
                    Ok(number) => Cell::Integer(i64::from(number)),
                    Err(_) if column.required => return Err(odd()),
                    Err(_) => Cell::Null,
                },
                Shape::Tenths => Cell::Integer(tenths(value).ok_or_else(odd)?),
                Shape::Flag => Cell::Integer(i64::from(value == "1")),
                Shape::Text => self.push_text(value),
            };
            self.cells.push(cell);
        }
        Ok(())
    }

    /// First value of the last row, its key.
    pub fn last_id(&self) -> Option<i64> {
        let start = self.cells.len().checked_sub(self.columns())?;
        match self.cells.get(start) {
            Some(Cell::Integer(id)) => Some(*id),
            _ => None,
        }
    }

    /// A value of the last row.
    pub fn last(&self, column: usize) -> Cell {
        let start = self.cells.len() - self.columns();
        self.cells[start + column]
    }

    pub fn last_text(&self, column: usize) -> Option<&str> {
        match self.last(column) {
            Cell::Text(start, end) => Some(self.text(start, end)),
            _ => None,
        }
    }

    /// Removes the last row.
    pub fn pop(&mut self) {
        let start = self.cells.len().saturating_sub(self.columns());
        let texts = self.cells[start..].iter().filter_map(|cell| match cell {
            Cell::Text(start, _) => Some(*start as usize),
            _ => None,
        });
        let from = texts.min().unwrap_or(self.text.len());
        self.text.truncate(from);
        self.cells.truncate(start);
    }
}

/// `8.7` as 87; further decimals are cut.
fn tenths(text: &str) -> Option<i64> {
    let value: f64 = text.parse().ok()?;
    (0.0..=100.0)
        .contains(&value)
        .then(|| (value * 10.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_by_its_columns_wherever_they_are() {
        let source = Table::Ratings.source();
        let mut batch = Batch::new(Table::Ratings);
        let places = [Some(2), Some(0), Some(1)];
        batch.push(source, &["8.7", "12", "tt0000007"], &places).unwrap();
        assert_eq!(
            batch.cells(),
            [Cell::Integer(7), Cell::Integer(87), Cell::Integer(12)]
        );
        for bad in [
            &["x", "1", "tt1"][..],
            &["1", "1"],
            &["1", "\\N", "tt1"],
            &["1", "1", "nm1"],
            &["900", "1", "tt1"],
            &["NaN", "1", "tt1"],
        ] {
            assert!(batch.push(source, bad, &places).is_err(), "{bad:?}");
        }
        assert_eq!((batch.rows(), batch.last_id()), (1, Some(7)));
        batch.pop();
        assert!(batch.is_empty());
    }

    #[test]
    fn a_row_that_is_taken_away_leaves_no_text() {
        let source = Table::Titles.source();
        let places: Vec<Option<usize>> = (0..9).map(Some).collect();
        let mut batch = Batch::new(Table::Titles);
        let row = |id| ["tt1", id, "A\0b", "\\N", "0", "1999", "\\N", "x", "Drama"];
        batch.push(source, &row("movie"), &places).unwrap();
        let size = batch.size();
        batch.push(source, &row("short"), &places).unwrap();
        assert_eq!(
            (batch.last_text(1), batch.last_text(2)),
            (Some("short"), Some("Ab"))
        );
        batch.pop();
        assert_eq!((batch.rows(), batch.size()), (1, size));
        assert_eq!(
            batch.last(7),
            Cell::Null,
            "a runtime that is no number is unknown"
        );
    }
}
