//! Drawing of the parts of the service: an SVG made from `parts.txt`.
//!
//! A line of that text is a band (`Title: box | box`, a box being `name / detail`), a further row of boxes of the band
//! above (`+ box | box`), or an arrow down to the next band (`-> label`).

use std::fmt::Write as _;

const PARTS: &str = include_str!("parts.txt");

const WIDTH: usize = 960;
const MARGIN: usize = 16;
/// Room for the title of a band.
const TITLE: usize = 30;
const BOX_HEIGHT: usize = 50;
const GAP: usize = 12;
const ARROW: usize = 44;

const STYLE: &str = "text{font-family:system-ui,sans-serif;fill:#1d2125}\
.title{font-size:14px;font-weight:600}\
.name{font-size:14px;text-anchor:middle}\
.detail{font-size:11px;text-anchor:middle;fill:#5d666f}\
.label{font-size:12px;fill:#5d666f}\
.band{fill:#eef3f1;stroke:#b9cbc4}\
.box{fill:#fff;stroke:#1f6f5c}\
.arrow{stroke:#1f6f5c;stroke-width:2;fill:none}\
.head{fill:#1f6f5c}";

/// A row of boxes, each with its name and a detail that may be empty.
type Row<'a> = Vec<(&'a str, &'a str)>;

enum Part<'a> {
    Band { title: &'a str, rows: Vec<Row<'a>> },
    Arrow(&'a str),
}

/// The drawing of `parts.txt`.
pub fn svg() -> Result<String, String> {
    draw(&read(PARTS)?)
}

fn read(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(label) = line.strip_prefix("-> ") {
            parts.push(Part::Arrow(label));
        } else if let Some(boxes) = line.strip_prefix("+ ") {
            match parts.last_mut() {
                Some(Part::Band { rows, .. }) => rows.push(row(boxes)),
                _ => return Err(format!("no band stands above `{line}`")),
            }
        } else {
            let (title, boxes) = line
                .split_once(": ")
                .ok_or_else(|| format!("`{line}` is no band, row or arrow"))?;
            let rows = vec![row(boxes)];
            parts.push(Part::Band { title, rows });
        }
    }
    Ok(parts)
}

fn row(boxes: &str) -> Row<'_> {
    let parts = boxes.split(" | ");
    parts
        .map(|part| part.split_once(" / ").unwrap_or((part, "")))
        .collect()
}

fn draw(parts: &[Part<'_>]) -> Result<String, String> {
    let mut body = String::new();
    let mut top = MARGIN;
    for part in parts {
        top = match part {
            Part::Band { title, rows } => draw_band(&mut body, top, title, rows),
            Part::Arrow(label) => draw_arrow(&mut body, top, label),
        }
        .map_err(|error| format!("cannot write the drawing: {error}"))?;
    }
    let height = top + MARGIN;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\">\n<title>Parts of Quartermaster</title>\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#fff\"/>\n{body}</svg>\n"
    ))
}

/// Answers the place below the band.
fn draw_band(body: &mut String, top: usize, title: &str, rows: &[Row<'_>]) -> Result<usize, std::fmt::Error> {
    let height = TITLE + rows.len() * (BOX_HEIGHT + GAP);
    let width = WIDTH - 2 * MARGIN;
    writeln!(
        body,
        "<rect class=\"band\" x=\"{MARGIN}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"
    )?;
    let (x, y) = (MARGIN + GAP, top + 20);
    writeln!(
        body,
        "<text class=\"title\" x=\"{x}\" y=\"{y}\">{}</text>",
        escaped(title)
    )?;
    for (index, row) in rows.iter().enumerate() {
        draw_boxes(body, top + TITLE + index * (BOX_HEIGHT + GAP), row)?;
    }
    Ok(top + height)
}

fn draw_boxes(body: &mut String, top: usize, row: &[(&str, &str)]) -> Result<(), std::fmt::Error> {
    let room = WIDTH - 2 * MARGIN - GAP;
    let width = room / row.len().max(1) - GAP;
    for (index, (name, detail)) in row.iter().enumerate() {
        let left = MARGIN + GAP + index * (width + GAP);
        let middle = left + width / 2;
        writeln!(
            body,
            "<rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"6\"/>"
        )?;
        let line = if detail.is_empty() { 30 } else { 22 };
        let y = top + line;
        writeln!(
            body,
            "<text class=\"name\" x=\"{middle}\" y=\"{y}\">{}</text>",
            escaped(name)
        )?;
        if !detail.is_empty() {
            let y = top + 39;
            writeln!(
                body,
                "<text class=\"detail\" x=\"{middle}\" y=\"{y}\">{}</text>",
                escaped(detail)
            )?;
        }
    }
    Ok(())
}

/// Answers the place below the arrow.
fn draw_arrow(body: &mut String, top: usize, label: &str) -> Result<usize, std::fmt::Error> {
    let (x, end) = (WIDTH / 2, top + ARROW);
    let (left, right, neck) = (x - 6, x + 6, end - 10);
    let (from, text_x, text_y) = (top + 2, x + 16, top + ARROW / 2 + 4);
    writeln!(body, "<path class=\"arrow\" d=\"M{x} {from}V{neck}\"/>")?;
    writeln!(
        body,
        "<path class=\"head\" d=\"M{left} {neck}H{right}L{x} {end}z\"/>"
    )?;
    writeln!(
        body,
        "<text class=\"label\" x=\"{text_x}\" y=\"{text_y}\">{}</text>",
        escaped(label)
    )?;
    Ok(end)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_rows_and_arrows_are_drawn() {
        let parts = read("Above: one / a < b | two\n+ three\n-> down\nBelow: four\n").unwrap();
        let svg = draw(&parts).unwrap();
        for word in ["Above", "a &lt; b", "two", "three", "down", "Below"] {
            assert!(svg.contains(&format!(">{word}</text>")), "{word} in {svg}");
        }
        assert_eq!(svg.matches("class=\"band\"").count(), 2);
        assert_eq!(svg.matches("class=\"box\"").count(), 4);
        assert!(read("+ a row without a band").is_err() && read("nothing").is_err());
    }
}
