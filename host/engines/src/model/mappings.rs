//! Mappings of paths, for a torrent client that sees the directories of this server under other paths: in a container, a chroot,
//! or on another machine with the same disk.
//!
//! A *remote* path is the client's, a *local* one this server's. Behind the driver of an engine ([`crate::sync`]) there are local
//! paths only. The longest prefix wins, at the border of a component, and what follows it stays as it is. What no mapping covers is
//! the same path on both sides, unless that would be a directory which a mapping leads elsewhere: such a path of the client is shown below
//! [`NOT_MAPPED`], where nothing is ever opened, and such a path of ours is not told to the client. So two directories of a client are
//! never one here, and what a client is told comes back as what was meant.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::paths::{check_label, normalised};

/// Mappings of an engine.
pub const MOST: usize = 32;
/// Bytes of a path in a mapping.
pub const LONGEST: usize = 4_096;
/// Directory, in no root, below which paths of a client are shown that the server does not see.
pub const NOT_MAPPED: &str = "/.not-mapped";
/// Name below [`NOT_MAPPED`] of what Windows has on other machines (`\\server\share`).
const NETWORK: &str = "UNC";

/// A directory as the client and as the server see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMapping {
    pub remote: String,
    pub local: String,
}

/// Paths of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    #[default]
    Unix,
    /// With drives and backslashes; letters of either case are one.
    Windows,
}

#[derive(Clone, Debug)]
struct Pair {
    /// Without the slash at its end; of the client's root nothing.
    remote: String,
    local: String,
    /// Its place in the configuration.
    number: usize,
}

/// The reason why a client cannot be told a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmapped {
    #[error(
        "no path mapping covers `{0}`: choose a directory below the `local` of one, or add a mapping for it to the engine"
    )]
    NotCovered(String),
    #[error(
        "it would see `{local}` as `{remote}`, which by its path mappings is `{other}` here: correct the mappings of the engine, or \
         choose another directory"
    )]
    Elsewhere {
        local: String,
        remote: String,
        other: String,
    },
    #[error(
        "`{0}` has a name that a client on Windows cannot have: no backslash, and no dot or space at the end of a name"
    )]
    NotOnWindows(String),
}

/// The mappings of one engine.
#[derive(Clone, Debug, Default)]
pub struct PathMappings {
    style: Style,
    pairs: Vec<Pair>,
}

impl PathMappings {
    /// Reads mappings; `Err` names every fault. Where the local directories lie is judged elsewhere.
    pub fn read(mappings: &[PathMapping]) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        if mappings.len() > MOST {
            return Err(vec![format!(
                "pathMappings must contain no more than {MOST} elements"
            )]);
        }
        let mut pairs = Vec::with_capacity(mappings.len());
        let mut styles = Vec::with_capacity(mappings.len());
        for (number, mapping) in mappings.iter().enumerate() {
            match read_pair(number, mapping) {
                Ok((style, pair)) => {
                    styles.push(style);
                    pairs.push(pair);
                }
                Err(more) => faults.extend(more),
            }
        }
        if styles.windows(2).any(|two| two[0] != two[1]) {
            faults.push(
                "pathMappings must have remote paths of one kind: all like `C:\\Downloads`, or all like `/downloads`".to_owned(),
            );
        }
        let style = styles.first().copied().unwrap_or_default();
        faults.extend(ambiguities(style, &pairs));
        if faults.is_empty() {
            Ok(Self { style, pairs })
        } else {
            Err(faults)
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The place in the configuration of the mapping that covers a local path.
    pub fn covering(&self, local: &str) -> Option<usize> {
        self.by_local(&normalised(local)).map(|(pair, _)| pair.number)
    }

    fn by_local<'a>(&self, local: &'a str) -> Option<(&Pair, &'a str)> {
        let covering = self
            .pairs
            .iter()
            .filter_map(|pair| Some((pair, below(local, &pair.local, Style::Unix)?)));
        covering.max_by_key(|(pair, _)| pair.local.len())
    }

    /// Says where a directory of the client lies here.
    pub fn to_local(&self, told: &str) -> String {
        let Some(plain) = self.plain(told).filter(|_| !self.is_empty()) else {
            return told.to_owned();
        };
        let covering = self
            .pairs
            .iter()
            .filter_map(|pair| Some((pair, below(&plain, &pair.remote, self.style)?)));
        if let Some((pair, rest)) = covering.max_by_key(|(pair, _)| pair.remote.len()) {
            let rest = if rest == "/" { "" } else { rest };
            return format!("{}{rest}", pair.local);
        }
        match self.style {
            Style::Windows => hidden_name(&plain),
            Style::Unix if self.by_local(&plain).is_some() => format!("{NOT_MAPPED}{plain}"),
            Style::Unix => told.to_owned(),
        }
    }

    /// Says what the client calls a directory of this server.
    pub fn to_remote(&self, local: &str) -> Result<String, Unmapped> {
        if self.is_empty() || !local.starts_with('/') {
            return Ok(local.to_owned());
        }
        let plain = normalised(local);
        if below(&plain, NOT_MAPPED, Style::Unix).is_some() {
            return Err(Unmapped::NotCovered(local.to_owned()));
        }
        let remote = match (self.by_local(&plain), self.style) {
            (Some((pair, rest)), Style::Unix) if pair.remote.is_empty() && rest.is_empty() => "/".to_owned(),
            (Some((pair, rest)), Style::Unix) => format!("{}{rest}", pair.remote),
            (Some((pair, rest)), Style::Windows) => {
                let is_foreign = |name: &str| name.contains('\\') || name.ends_with(['.', ' ']);
                if rest.split('/').any(is_foreign) {
                    return Err(Unmapped::NotOnWindows(local.to_owned()));
                }
                windows_path(&format!("{}{rest}", pair.remote))
            }
            (None, Style::Windows) => return Err(Unmapped::NotCovered(local.to_owned())),
            (None, Style::Unix) => local.to_owned(),
        };
        let back = self.to_local(&remote);
        if normalised(&back) == plain {
            Ok(remote)
        } else {
            Err(Unmapped::Elsewhere {
                local: local.to_owned(),
                remote,
                other: back,
            })
        }
    }

    /// A path of the client again, of what [`PathMappings::to_local`] made of it.
    pub fn original(&self, local: &str) -> String {
        if self.is_empty() {
            return local.to_owned();
        }
        match below(local, NOT_MAPPED, Style::Unix) {
            Some(rest) if self.style == Style::Unix => rest.to_owned(),
            Some(rest) => match rest.strip_prefix(&format!("/{NETWORK}/")) {
                Some(network) => windows_path(&format!("//{network}")),
                None => windows_path(rest.trim_start_matches('/')),
            },
            None => match (self.by_local(&normalised(local)), self.style) {
                (Some((pair, rest)), Style::Windows) => windows_path(&format!("{}{rest}", pair.remote)),
                (Some((pair, rest)), Style::Unix) if !pair.remote.is_empty() || !rest.is_empty() => {
                    format!("{}{rest}", pair.remote)
                }
                (Some(_), Style::Unix) => "/".to_owned(),
                (None, _) => local.to_owned(),
            },
        }
    }

    fn plain<'a>(&self, told: &'a str) -> Option<Cow<'a, str>> {
        plain(self.style, told)
    }
}

fn read_pair(number: usize, mapping: &PathMapping) -> Result<(Style, Pair), Vec<String>> {
    let mut faults = Vec::new();
    for (name, path) in [("remote", &mapping.remote), ("local", &mapping.local)] {
        let field = format!("pathMappings.{number}.{name}");
        let is_dotted = |part: &str| matches!(part, "." | "..");
        if path.trim().is_empty() {
            faults.push(format!("{field} should not be empty"));
        } else if path.len() > LONGEST {
            faults.push(format!("{field} must be no longer than {LONGEST} bytes"));
        } else if check_label(path, "path").is_err() || path.contains(is_unwritable) {
            faults.push(format!(
                "{field} must not contain quotes, control characters or U+FFFD"
            ));
        } else if path.split(['/', '\\']).any(is_dotted) {
            faults.push(format!("{field} must not contain `.` or `..` as a name"));
        }
    }
    let style = if mapping.remote.starts_with('/') {
        Style::Unix
    } else {
        Style::Windows
    };
    let remote = plain(style, &mapping.remote);
    if remote.is_none() && faults.is_empty() {
        faults.push(format!(
            "pathMappings.{number}.remote must be an absolute path, like `/downloads` or `C:\\Downloads`"
        ));
    }
    if !mapping.local.starts_with('/') && faults.is_empty() {
        faults.push(format!("pathMappings.{number}.local must be an absolute path"));
    }
    let local = normalised(&mapping.local).into_owned();
    if below(&local, NOT_MAPPED, Style::Unix).is_some() || local == "/" {
        faults.push(format!(
            "pathMappings.{number}.local must be a directory of this server below one of its roots"
        ));
    }
    match remote {
        Some(remote) if faults.is_empty() => {
            let remote = remote.trim_end_matches('/').to_owned();
            let pair = Pair {
                remote,
                local,
                number,
            };
            Ok((style, pair))
        }
        _ => Err(faults),
    }
}

fn is_unwritable(letter: char) -> bool {
    letter.is_control() || letter == '\u{fffd}'
}

/// Pairs by which a path has two meanings, each as a sentence.
fn ambiguities(style: Style, pairs: &[Pair]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, second) in pairs.iter().enumerate() {
        for first in &pairs[..at] {
            if same(&first.remote, &second.remote, style) {
                faults.push(format!(
                    "pathMappings.{} and pathMappings.{} have one remote directory, `{}`: keep one of them",
                    first.number,
                    second.number,
                    shown(style, &second.remote)
                ));
                continue;
            }
            let inner = [(first, second), (second, first)]
                .into_iter()
                .find_map(|(outer, inner)| {
                    Some((outer, inner, below(&inner.local, &outer.local, Style::Unix)?))
                });
            let Some((outer, inner, rest)) = inner else {
                continue;
            };
            // Twice the same is no harm.
            if below(&inner.remote, &outer.remote, style).is_some_and(|other| same(other, rest, style)) {
                continue;
            }
            faults.push(format!(
                "pathMappings.{} and pathMappings.{} lead to one place: `{}` would be `{}` and `{}` of the client; each directory of \
                 the server needs one remote path",
                first.number,
                second.number,
                inner.local,
                shown(style, &inner.remote),
                shown(style, &format!("{}{rest}", outer.remote)),
            ));
        }
    }
    faults
}

fn shown(style: Style, remote: &str) -> String {
    match style {
        Style::Windows => windows_path(remote),
        Style::Unix if remote.is_empty() => "/".to_owned(),
        Style::Unix => remote.to_owned(),
    }
}

fn same(a: &str, b: &str, style: Style) -> bool {
    match style {
        Style::Unix => a == b,
        Style::Windows => a.eq_ignore_ascii_case(b),
    }
}

/// The part of a plain path after a directory that is, or contains, it.
fn below<'a>(path: &'a str, directory: &str, style: Style) -> Option<&'a str> {
    let (head, rest) = path.split_at_checked(directory.len())?;
    (same(head, directory, style) && (rest.is_empty() || rest.starts_with('/'))).then_some(rest)
}

/// An absolute path with single slashes and without dots; `None` of any other.
fn plain(style: Style, told: &str) -> Option<Cow<'_, str>> {
    match style {
        Style::Unix => told.starts_with('/').then(|| normalised(told)),
        Style::Windows => {
            let told = told.replace('\\', "/");
            let is_drive = |text: &str| {
                let mut letters = text.chars();
                letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
                    && letters.next() == Some(':')
                    && letters.next().is_none_or(|letter| letter == '/')
            };
            if let Some(network) = told.strip_prefix("//") {
                let rest = normalised(network);
                return (rest.len() > 1).then(|| format!("/{rest}").into());
            }
            let (drive, rest) = is_drive(&told).then(|| told.split_at(2))?;
            let rest = normalised(rest);
            Some(format!("{drive}{}", rest.trim_end_matches('/')).into())
        }
    }
}

/// A path with slashes as Windows writes it.
fn windows_path(plain: &str) -> String {
    let path = plain.replace('/', "\\");
    if path.ends_with(':') { path + "\\" } else { path }
}

/// Path below [`NOT_MAPPED`] for one of Windows that no mapping covers.
fn hidden_name(plain: &str) -> String {
    match plain.strip_prefix("//") {
        Some(network) => format!("{NOT_MAPPED}/{NETWORK}/{network}"),
        None => format!("{NOT_MAPPED}/{plain}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(remote: &str, local: &str) -> PathMapping {
        PathMapping {
            remote: remote.into(),
            local: local.into(),
        }
    }

    fn mappings(pairs: &[(&str, &str)]) -> PathMappings {
        let pairs: Vec<_> = pairs.iter().map(|(remote, local)| pair(remote, local)).collect();
        PathMappings::read(&pairs).expect("good mappings")
    }

    #[test]
    fn the_longest_prefix_wins_at_the_border_of_a_name() {
        let own = mappings(&[
            ("/data/", "/mnt/data"),
            ("/data/movies", "/mnt/films"),
            ("/w", "/mnt/w"),
        ]);
        for (remote, local) in [
            ("/data", "/mnt/data"),
            ("/data/", "/mnt/data"),
            ("/data/x", "/mnt/data/x"),
            ("/data//x/", "/mnt/data/x"),
            ("/data/movies/x", "/mnt/films/x"),
            ("/data/movies2", "/mnt/data/movies2"),
            ("/data2/x", "/data2/x"),
            ("/data/../w/x", "/mnt/w/x"),
            ("/srv/elsewhere/", "/srv/elsewhere/"),
            ("", ""),
            ("downloads", "downloads"),
            ("/data/caf\u{fffd} ?/x", "/mnt/data/caf\u{fffd} ?/x"),
        ] {
            assert_eq!(own.to_local(remote), local, "{remote}");
        }
        for (local, remote) in [
            ("/mnt/data", "/data"),
            ("/mnt/data/x", "/data/x"),
            ("/mnt/films", "/data/movies"),
            ("/mnt/data2", "/mnt/data2"),
            ("/srv/x", "/srv/x"),
            ("relative", "relative"),
        ] {
            assert_eq!(own.to_remote(local).as_deref(), Ok(remote), "{local}");
        }
    }

    #[test]
    fn a_path_that_would_be_another_directory_is_told_to_nobody() {
        let own = mappings(&[("/downloads", "/mnt/box"), ("/downloads/tv", "/mnt/tv")]);
        // Its own /mnt/box is not ours.
        assert_eq!(own.to_local("/mnt/box/x"), "/.not-mapped/mnt/box/x");
        assert_eq!(own.original("/.not-mapped/mnt/box/x"), "/mnt/box/x");
        assert_eq!(
            own.to_remote("/.not-mapped/mnt/box/x"),
            Err(Unmapped::NotCovered("/.not-mapped/mnt/box/x".into()))
        );
        // Our /downloads is not its; and its /downloads/tv lies elsewhere here.
        for (local, remote, other) in [
            ("/downloads/x", "/downloads/x", "/mnt/box/x"),
            ("/mnt/box/tv/x", "/downloads/tv/x", "/mnt/tv/x"),
        ] {
            let refused = own.to_remote(local).expect_err(local);
            let told = Unmapped::Elsewhere {
                local: local.into(),
                remote: remote.into(),
                other: other.into(),
            };
            assert_eq!(refused, told);
        }
    }

    #[test]
    fn the_root_of_a_client_may_be_a_directory_here() {
        let own = mappings(&[("/", "/srv/jail")]);
        for (remote, local) in [("/", "/srv/jail"), ("/x/y", "/srv/jail/x/y")] {
            assert_eq!(own.to_local(remote), local);
            assert_eq!(own.to_remote(local).as_deref(), Ok(remote));
            assert_eq!(own.original(local), remote);
        }
        assert!(own.to_remote("/srv/other").is_err());
    }

    #[test]
    fn windows_has_drives_and_backslashes() {
        let own = mappings(&[
            ("C:\\Downloads\\", "/mnt/box"),
            ("\\\\nas\\share", "/mnt/nas"),
            ("D:\\", "/mnt/d"),
        ]);
        for (remote, local, back) in [
            ("C:\\Downloads", "/mnt/box", "C:\\Downloads"),
            ("c:/downloads/a/b", "/mnt/box/a/b", "C:\\Downloads\\a\\b"),
            ("C:\\Downloads\\a\\", "/mnt/box/a", "C:\\Downloads\\a"),
            ("\\\\NAS\\share\\x", "/mnt/nas/x", "\\\\nas\\share\\x"),
            ("d:\\x", "/mnt/d/x", "D:\\x"),
            ("D:\\", "/mnt/d", "D:\\"),
        ] {
            assert_eq!(own.to_local(remote), local, "{remote}");
            assert_eq!(own.to_remote(local).as_deref(), Ok(back), "{local}");
        }
        for (remote, hidden) in [
            ("C:\\Downloads2\\x", "/.not-mapped/C:/Downloads2/x"),
            ("\\\\other\\x", "/.not-mapped/UNC/other/x"),
        ] {
            assert_eq!(own.to_local(remote), hidden);
            assert_eq!(own.original(hidden), remote);
        }
        for local in ["/srv/x", "/mnt/box/a\\b", "/mnt/box/a./b", "/mnt/box/a "] {
            assert!(own.to_remote(local).is_err(), "{local}");
        }
    }

    #[test]
    fn what_has_two_meanings_is_refused_by_name() {
        for (pairs, words) in [
            (
                vec![("/a", "/x"), ("/a/", "/y")],
                "pathMappings.0 and pathMappings.1 have one remote directory, `/a`",
            ),
            (
                vec![("/a", "/x"), ("/b", "/x")],
                "`/x` would be `/b` and `/a` of the client",
            ),
            (
                vec![("/b", "/x/b"), ("/a", "/x")],
                "`/x/b` would be `/b` and `/a/b` of the client",
            ),
            (
                vec![("/a", "/x"), ("/a/b", "/x/c")],
                "`/x/c` would be `/a/b` and `/a/c` of the client",
            ),
            (vec![("C:\\a", "/x"), ("c:/A", "/y")], "have one remote directory"),
            (vec![("C:\\a", "/x"), ("/b", "/y")], "remote paths of one kind"),
            (
                vec![("a", "/x")],
                "pathMappings.0.remote must be an absolute path",
            ),
            (vec![("/a", "x")], "pathMappings.0.local must be an absolute path"),
            (vec![("/a", "/")], "pathMappings.0.local must be a directory"),
            (
                vec![("/a/../b", "/x")],
                "pathMappings.0.remote must not contain `.` or `..`",
            ),
            (
                vec![("/a", "/x/../y")],
                "pathMappings.0.local must not contain `.` or `..`",
            ),
            (
                vec![("/a\n", "/x")],
                "pathMappings.0.remote must not contain quotes",
            ),
            (
                vec![("/a", "/x\"")],
                "pathMappings.0.local must not contain quotes",
            ),
            (vec![("", "/x")], "pathMappings.0.remote should not be empty"),
        ] {
            let given: Vec<_> = pairs.iter().map(|(remote, local)| pair(remote, local)).collect();
            let faults = PathMappings::read(&given).expect_err(words);
            assert!(
                faults.iter().any(|fault| fault.contains(words)),
                "{words}: {faults:?}"
            );
        }
        let many: Vec<_> = (0..=MOST)
            .map(|n| pair(&format!("/r{n}"), &format!("/l{n}")))
            .collect();
        assert!(PathMappings::read(&many).is_err());
        // The same said twice is not ambiguous.
        mappings(&[("/a", "/x"), ("/a/b", "/x/b")]);
    }

    fn a_path() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "ab", "\u{fffd}"]), 0..4)
            .prop_map(|names| names.iter().map(|name| format!("/{name}")).collect::<String>())
            .prop_map(|path| if path.is_empty() { "/".to_owned() } else { path })
    }

    proptest! {
        /// A path that a client is told comes back as the one that was meant, and no two directories of a client are one here.
        #[test]
        fn paths_survive_the_way_there_and_back(
            pairs in prop::collection::vec(("(/[abc]){1,3}", "(/[abc]){1,3}"), 0..4),
            windows in any::<bool>(),
            one in a_path(),
            two in a_path(),
        ) {
            let given: Vec<_> = pairs
                .iter()
                .map(|(remote, local)| pair(&if windows { format!("C:{remote}") } else { remote.clone() }, local))
                .collect();
            if let Ok(own) = PathMappings::read(&given) {
                if let Ok(remote) = own.to_remote(&one) {
                    prop_assert_eq!(own.to_local(&remote), one.clone());
                }
                let drive = if windows && !own.is_empty() { "C:" } else { "" };
                let (first, second) = (format!("{drive}{one}"), format!("{drive}{two}"));
                let (here, there) = (own.to_local(&first), own.to_local(&second));
                prop_assert!(here != there || one == two, "{first} and {second} are both {here}");
                let back = own.original(&here).replace('\\', "/");
                prop_assert_eq!(back.trim_end_matches('/'), first.trim_end_matches('/'));
            }
        }
    }
}
