//! Names with `[dupN]`, which a rename gives to the second of two files that differ in nothing.

/// Beginning of the mark.
pub const MARK: &str = "[dup";

/// Name of a file without its mark and without its extension; `None`: the name has no mark at its end.
pub fn plain_stem(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let (plain, number) = stem.strip_suffix(']')?.rsplit_once(MARK)?;
    let is_number = (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let plain = plain.trim_end();
    (is_number && !plain.is_empty()).then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_at_the_end_of_names() {
        for (path, stem) in [
            ("/films/Alien [dup2].mkv", Some("Alien")),
            ("/films/Alien (1979) [dup12].mkv", Some("Alien (1979)")),
            ("Alien[dup2].mkv", Some("Alien")),
            ("/films/Alien [dup2] [dup3].mkv", Some("Alien [dup2]")),
            ("/films/Alien [dup2]", Some("Alien")),
            ("/films/Alien [dup].mkv", None),
            ("/films/Alien [dupx].mkv", None),
            ("/films/Alien [dup2] - part1.mkv", None),
            ("/films/[dup2].mkv", None),
            ("/films/Alien [dup2]/Alien.mkv", None),
        ] {
            assert_eq!(plain_stem(path).as_deref(), stem, "{path}");
        }
    }
}
