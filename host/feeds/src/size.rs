//! Sizes as they are written for people, such as `1.4 GiB`; about right.

/// Words that say that a size follows, lower case.
const LABELS: &[&str] = &[
    "size",
    "taille",
    "größe",
    "groesse",
    "grösse",
    "размер",
    "tamaño",
    "tamanho",
    "dimensione",
    "dimensioni",
    "rozmiar",
    "velikost",
    "boyut",
    "storlek",
    "størrelse",
    "grootte",
    "大小",
    "容量",
    "サイズ",
    "크기",
];
/// Words before such a word that make it the size of something else.
const OF_PARTS: &[&str] = &["piece", "pieces", "chunk", "block", "part", "sample"];
/// The most characters between such a word and the size.
const MAX_GAP: usize = 12;
/// Elements of web pages that lie in a line.
const INLINE: &[&str] = &[
    "a", "b", "em", "font", "i", "span", "strong", "u", "small", "code", "tt",
];

/// Bytes of a text that is a size and nothing else.
pub fn size_in_words(text: &str) -> Option<u64> {
    let text = text.trim();
    let (bytes, rest) = leading(text)?;
    rest.trim().is_empty().then_some(bytes)
}

/// Bytes that a description tells: by a word for it, or alone in a line or a cell. Of several the most: the others are those of
/// parts.
pub fn size_in_text(text: &str) -> Option<u64> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let plain = crate::text::unescape(&without_tags(text)).to_lowercase();
    labelled(&plain).or_else(|| {
        let fields = plain.split(['\n', '|', '•', '·', ';']);
        fields.filter_map(size_in_words).max()
    })
}

/// Text that stands for an element of a web page in its text.
pub fn parting(element: &str) -> char {
    let is_inline = INLINE.iter().any(|inline| inline.eq_ignore_ascii_case(element));
    if is_inline { ' ' } else { '\n' }
}

/// Text without the tags of HTML, with a line for each block.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.trim_start_matches('/');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric());
        let name = &name[..end.unwrap_or(name.len())];
        if name.is_empty() {
            plain.push('<');
            continue;
        }
        plain.push(parting(name));
        let Some(end) = rest.find('>') else { return plain };
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    plain
}

fn labelled(plain: &str) -> Option<u64> {
    let mut most = None;
    for label in LABELS {
        let mut from = 0;
        while let Some(at) = plain[from..].find(label).map(|at| from + at) {
            from = at + label.len();
            let before = plain[..at].trim_end_matches(|letter: char| !letter.is_alphanumeric());
            let before = before.rsplit(|letter: char| !letter.is_alphanumeric()).next();
            let goes_on = plain[from..].starts_with(char::is_alphanumeric);
            if goes_on && label.is_ascii() || before.is_some_and(|word| OF_PARTS.contains(&word)) {
                continue;
            }
            most = most.max(behind_label(&plain[from..]));
        }
    }
    most
}

fn behind_label(rest: &str) -> Option<u64> {
    let gap = rest
        .char_indices()
        .take(MAX_GAP)
        .find(|(_, letter)| letter.is_alphanumeric());
    let (start, letter) = gap?;
    let (bytes, _) = leading(&rest[start..]).filter(|_| letter.is_ascii_digit())?;
    Some(bytes)
}

/// Size that a text begins with, and the rest of the text.
fn leading(text: &str) -> Option<(u64, &str)> {
    let is_part = |letter: char| {
        letter.is_ascii_digit() || matches!(letter, '.' | ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}' | '\n')
    };
    let end = text.find(|letter| !is_part(letter))?;
    let (number, rest) = text.split_at(end);
    let unit_end = rest
        .find(|letter: char| !letter.is_alphabetic())
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    // A speed is none.
    if rest.starts_with('/') || unit.len() > 12 {
        return None;
    }
    let (base, power) = unit_of(&unit.to_lowercase())?;
    let bytes = number_of(number.trim(), power)? * base.powi(power);
    (1.0..1e18).contains(&bytes).then_some((bytes as u64, rest))
}

/// Base of a unit, and its power.
fn unit_of(unit: &str) -> Option<(f64, i32)> {
    if matches!(unit, "b" | "byte" | "bytes" | "o" | "octets") {
        return Some((1000.0, 0));
    }
    let mut letters = unit.chars();
    let power = match letters.next()? {
        'k' | 'к' => 1,
        'm' | 'м' => 2,
        'g' | 'г' => 3,
        't' | 'т' => 4,
        'p' | 'п' => 5,
        _ => return None,
    };
    match letters.as_str() {
        "ib" | "io" => Some((1024.0, power)),
        "b" | "o" | "б" => Some((1000.0, power)),
        _ => None,
    }
}

/// A number with its thousands parted however people do. A comma before three digits parts thousands, but for units of which
/// nothing has thousands.
fn number_of(text: &str, power: i32) -> Option<f64> {
    if text.len() > 24 {
        return None;
    }
    let parts: Vec<&str> = text.split(['\'', ' ', '\u{a0}', '\u{202f}', '\n']).collect();
    let whole = |part: &&str| part.len() == 3 && part.bytes().all(|digit| digit.is_ascii_digit());
    let (last, between) = parts.split_last()?;
    let ends_in_thousands = between.is_empty() || last.get(..3).as_ref().is_some_and(whole);
    if !ends_in_thousands || !between.iter().skip(1).all(whole) {
        return None;
    }
    let mut text = parts.concat();
    let (dots, commas) = (text.matches('.').count(), text.matches(',').count());
    let last = text.rfind(['.', ',']).map(|at| (at, text.as_bytes()[at]));
    if let Some((at, mark)) = last {
        let behind = text.len() - at - 1;
        let is_alone = dots + commas == 1;
        let is_decimal = if is_alone {
            mark == b'.' || behind != 3 || power > 2
        } else {
            dots.min(commas) == 1 && text.bytes().filter(|byte| *byte == mark).count() == 1
        };
        let (head, tail) = text.split_at(at);
        let head_parts: Vec<&str> = head.split(['.', ',']).collect();
        if !head_parts.iter().skip(1).all(whole) || (!is_decimal && behind != 3) {
            return None;
        }
        text = format!(
            "{}{}{}",
            head_parts.concat(),
            if is_decimal { "." } else { "" },
            &tail[1..]
        );
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        for (text, expected) in [
            ("1.5 GiB", Some(1_610_612_736)),
            ("700MB", Some(700_000_000)),
            ("1,5 kib", Some(1536)),
            ("2\u{a0}TB", Some(2_000_000_000_000)),
            ("1,4 Go", Some(1_400_000_000)),
            ("1,250.5 MB", Some(1_250_500_000)),
            ("1.250,5 MB", Some(1_250_500_000)),
            ("1 250 MB", Some(1_250_000_000)),
            ("1,250 MB", Some(1_250_000_000)),
            ("1,465 GB", Some(1_465_000_000)),
            ("1.465 GB", Some(1_465_000_000)),
            ("734,003,200 bytes", Some(734_003_200)),
            ("5 bytes", Some(5)),
            ("1,46 ГБ", Some(1_460_000_000)),
            ("12", None),
            ("0 MB", None),
            ("-1 MB", None),
            ("1.2.3 MB", None),
            ("1 25 MB", None),
            ("5 MB/s", None),
            ("MB", None),
            ("1 ÄB", None),
        ] {
            assert_eq!(size_in_words(text), expected, "{text}");
        }
    }

    #[test]
    fn descriptions_tell_sizes() {
        for (text, expected) in [
            ("Category: TV Size: 4.2 GB Added: 2026", Some(4_200_000_000)),
            ("<b>Size:</b> 1.5&nbsp;GiB<br/>Seeders: 3", Some(1_610_612_736)),
            ("<td>Total size</td>\n<td>700 MB</td>", Some(700_000_000)),
            ("Taille : 1,4 Go - Seeders : 3", Some(1_400_000_000)),
            ("Piece size: 4 MiB, Size: 2.0 GB", Some(2_000_000_000)),
            ("Piece size: 4 MiB", None),
            ("<p>TV / HD</p><p>900 MB</p>", Some(900_000_000)),
            ("TV | 4.2 GB | 12 seeders", Some(4_200_000_000)),
            ("needs 8 GB of memory", None),
            ("size 12 inches, 5 MB/s", None),
            ("a sized 4 GB", None),
            ("size < 4", None),
            ("", None),
        ] {
            assert_eq!(size_in_text(text), expected, "{text}");
        }
        assert_eq!(size_in_text(&"size<1".repeat(20_000)), None);
    }
}
