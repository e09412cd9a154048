//! The table of figures.

use std::fmt;

/// Measured rows; each is also printed at once, so that an interrupted run has shown its results.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    figure: String,
    target: String,
}

impl Report {
    /// `target` is the project's stated goal; empty when there is none.
    pub fn add(&mut self, what: impl Into<String>, figure: impl Into<String>, target: impl Into<String>) {
        let row = Row {
            what: what.into(),
            figure: figure.into(),
            target: target.into(),
        };
        println!(
            "{}: {} (target: {})",
            row.what,
            row.figure,
            if row.target.is_empty() {
                "none"
            } else {
                &row.target
            }
        );
        self.rows.push(row);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | figure | target |\n|---|---|---|")?;
        self.rows
            .iter()
            .try_for_each(|row| writeln!(f, "| {} | {} | {} |", row.what, row.figure, row.target))
    }
}

/// Median of the values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
