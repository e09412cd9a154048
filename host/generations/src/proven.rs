//! Proven versions from `tests/clients.toml`, and the order of versions.

/// The file uses only sections with `key = "value"` of TOML.
const RECORD: &str = include_str!("../../../tests/clients.toml");

/// Recorded version of a product in a suite.
pub(crate) fn version(suite: &str, product: &str) -> Option<&'static str> {
    look_up(RECORD, suite, product)
}

fn look_up<'a>(record: &'a str, suite: &str, product: &str) -> Option<&'a str> {
    let mut section = "";
    for line in record.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if section == suite
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == product
        {
            return value.trim().strip_prefix('"')?.strip_suffix('"');
        }
    }
    None
}

/// True when `version` comes after `proven`, number by number. A suffix does not count: a `-beta.2` is not
/// newer than its release.
pub(crate) fn is_newer(version: &str, proven: &str) -> bool {
    numbers(version) > numbers(proven)
}

fn numbers(version: &str) -> Vec<u64> {
    version
        .split('.')
        .map_while(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().ok()
        })
        .take(3)
        .collect()
}

/// Version in a client's output: the first word that begins with a number, without a leading `v`.
pub(crate) fn said_version(output: &str) -> Option<String> {
    output.split_whitespace().find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word).trim_end_matches('.');
        let is_version = word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        is_version.then(|| word.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_read() {
        let record = "# a comment = \"no\"\n[one]\na = \"1.0\"\n\n[two]\na = \"2.0\"\nb=\"3\"\n";
        assert_eq!(look_up(record, "one", "a"), Some("1.0"));
        assert_eq!(look_up(record, "two", "a"), Some("2.0"));
        assert_eq!(look_up(record, "two", "b"), Some("3"));
        assert_eq!(look_up(record, "one", "b"), None);
        assert_eq!(look_up(record, "three", "a"), None);
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        for (version, proven, newer) in [
            ("0.16.17", "0.9.8", true),
            ("0.9.8", "0.16.17", false),
            ("5.3.0", "5.3.0", false),
            ("5.3.1", "5.3.0", true),
            ("5.4", "5.3.0", true),
            ("5.3.0rc1", "5.3.0", false),
            ("4.1.0-beta.2", "4.1.0", false),
            ("4.1.1-beta.2", "4.1.0", true),
            ("10.0", "9.9.9", true),
            ("1.0", "", true),
        ] {
            assert_eq!(is_newer(version, proven), newer, "{version} after {proven}");
        }
    }

    #[test]
    fn clients_say_their_version_each_in_its_way() {
        for (output, version) in [
            (
                "Rakshasa's BitTorrent client version 0.16.17.\n\nAll value pairs",
                "0.16.17",
            ),
            (
                "qt.network.ssl: No TLS backend is available\nqBittorrent v5.3.0\n",
                "5.3.0",
            ),
            ("transmission-daemon 4.1.0-beta.2 (ac5c9e082d)\n", "4.1.0-beta.2"),
            ("transmission-daemon 3.00 (bb6b5a062e)", "3.00"),
        ] {
            assert_eq!(said_version(output).as_deref(), Some(version), "{output}");
        }
        assert_eq!(said_version("not found"), None);
    }
}
