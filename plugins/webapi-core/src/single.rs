//! Commands to one torrent at a time, which the client knows by its own name for it. What it does later is waited for.

use crate::commands::LOOKS_MS;
use crate::details::{files, trackers};
use crate::encode::percent;
use crate::error::{Error, Subject, checked, excerpt};
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, Link};

/// Calls that have no answer but that they were done.
pub(crate) fn post<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    path: &str,
    fields: &[(&str, &str)],
) -> Result<(), Error> {
    link.call(&Call::post(path, fields)).map(|_| ())
}

pub(crate) fn rename_file<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    index: u32,
    name: &str,
) -> Result<(), Error> {
    let file = files(link, id)?
        .into_iter()
        .find(|file| file.index == index)
        .ok_or(Error::NotFound(Subject::File))?;
    let new_path = renamed(&file.path, name);
    if new_path == file.path {
        return Ok(()); // the client would call it a conflict
    }
    let fields = [
        ("hash", id),
        ("oldPath", file.path.as_str()),
        ("newPath", new_path.as_str()),
    ];
    post(link, "/torrents/renameFile", &fields)?;
    let done = |link: &mut Link<H, C>| {
        Ok(files(link, id)?
            .iter()
            .any(|file| file.index == index && file.path == new_path))
    };
    if eventually(link, done)? {
        Ok(())
    } else {
        Err(Error::Rejected("the client did not rename the file".into()))
    }
}

/// Polls until `is_so` is true, for 2 s at most: the client answers before it has carried out a command.
fn eventually<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    mut is_so: impl FnMut(&mut Link<H, C>) -> Result<bool, Error>,
) -> Result<bool, Error> {
    for pause in LOOKS_MS {
        link.clock.sleep_ms(pause);
        if is_so(link)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A bare name takes the place of the last segment; one with a `/` is a whole path.
fn renamed(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

/// The folder's files, then whether they are below the new path. A client that knows no such folder says so of its files.
pub(crate) fn rename_folder<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    old_path: &str,
    new_path: &str,
) -> Result<(), Error> {
    let is_below = |path: &str, folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let (old_path, new_path) = (old_path.trim_matches('/'), new_path.trim_matches('/'));
    let indexes: Vec<u32> = files(link, id)?
        .into_iter()
        .filter(|file| is_below(&file.path, old_path))
        .map(|file| file.index)
        .collect();
    if indexes.is_empty() {
        return Err(Error::NotFound(Subject::File));
    }
    if old_path == new_path {
        return Ok(());
    }
    let fields = [("hash", id), ("oldPath", old_path), ("newPath", new_path)];
    post(link, "/torrents/renameFolder", &fields)?;
    let is_done = |link: &mut Link<H, C>| {
        let files = files(link, id)?;
        let mut ours = files.iter().filter(|file| indexes.contains(&file.index));
        Ok(ours.all(|file| is_below(&file.path, new_path)))
    };
    if eventually(link, is_done)? {
        Ok(())
    } else {
        Err(Error::Rejected("the client did not rename the folder".into()))
    }
}

pub(crate) fn set_file_priority<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    indexes: &[u32],
    priority: u8,
) -> Result<(), Error> {
    let native = match priority {
        0 => "0",
        1 => "1",
        2 => "6",
        _ => return Err(Error::Rejected("a file's priority is 0, 1 or 2".into())),
    };
    if indexes.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = indexes.iter().map(u32::to_string).collect();
    let names = names.join("|");
    let fields = [("hash", id), ("id", names.as_str()), ("priority", native)];
    let mut answer = link.exchange(&Call::post("/torrents/filePrio", &fields))?;
    if answer.status() != 409 {
        return checked(answer).map(|_| ());
    }
    let text = excerpt(&mut answer);
    let no_metadata = text.to_ascii_lowercase().contains("metadata");
    Err(if no_metadata {
        Error::Rejected(text)
    } else {
        Error::NotFound(Subject::File)
    })
}

fn one_url(url: &str) -> Result<&str, Error> {
    let several = url
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || c == '|');
    if several || url.is_empty() {
        Err(Error::Rejected("this is not one tracker URL".into()))
    } else {
        Ok(url)
    }
}

/// Since 5.2 the client says nothing of a torrent it does not know, so its trackers are asked for: there it does.
pub(crate) fn add_tracker<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    url: &str,
) -> Result<(), Error> {
    let url = one_url(url)?;
    trackers(link, id)?;
    post(link, "/torrents/addTrackers", &[("hash", id), ("urls", url)])
}

/// Old clients compare the URL as it is, new ones decode it first, and those say nothing when they find none: so it is
/// looked for before, sent both ways if need be, and looked for again.
pub(crate) fn remove_tracker<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    url: &str,
) -> Result<(), Error> {
    let url = one_url(url)?;
    let is_gone = |link: &mut Link<H, C>| Ok(!trackers(link, id)?.iter().any(|tracker| tracker.url == url));
    if is_gone(link)? {
        return Err(Error::NotFound(Subject::Tracker));
    }
    let encoded = percent(url);
    for form in [url, encoded.as_str()] {
        let fields = [("hash", id), ("urls", form)];
        let answer = link.exchange(&Call::post("/torrents/removeTrackers", &fields))?;
        // 409: none of the URLs was found.
        if answer.status() != 409 {
            checked(answer)?;
        }
        if eventually(link, is_gone)? {
            return Ok(());
        }
    }
    Err(Error::Rejected("the client keeps this tracker".into()))
}

/// In place of the old one, in its tier if the client can take the URL there. Versions name the old URL differently; each ignores
/// the other name.
pub(crate) fn replace_tracker<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    id: &str,
    old_url: &str,
    new_url: &str,
) -> Result<(), Error> {
    let (old_url, new_url) = (one_url(old_url)?, one_url(new_url)?);
    let has = |link: &mut Link<H, C>, url: &str| -> Result<bool, Error> {
        Ok(trackers(link, id)?.iter().any(|tracker| tracker.url == url))
    };
    if !has(link, old_url)? {
        return Err(Error::NotFound(Subject::Tracker));
    }
    if old_url == new_url {
        return Ok(());
    }
    if has(link, new_url)? {
        return Err(Error::Rejected("the torrent has the new tracker already".into()));
    }
    // The client would decode what is encoded in it, and announce to another address.
    if new_url.contains('%') {
        post(link, "/torrents/addTrackers", &[("hash", id), ("urls", new_url)])?;
        if !eventually(link, |link| has(link, new_url))? {
            return Err(Error::Rejected("the client did not take the new tracker".into()));
        }
        return remove_tracker(link, id, old_url);
    }
    let fields = [
        ("hash", id),
        ("origUrl", old_url),
        ("url", old_url),
        ("newUrl", new_url),
    ];
    post(link, "/torrents/editTracker", &fields)?;
    let is_done = |link: &mut Link<H, C>| Ok(has(link, new_url)? && !has(link, old_url)?);
    if eventually(link, is_done)? {
        Ok(())
    } else {
        Err(Error::Rejected("the client keeps the old tracker".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(renamed("a/b/c.bin", "d.bin"), "a/b/d.bin");
        assert_eq!(renamed("c.bin", "d.bin"), "d.bin");
        assert_eq!(renamed("a/c.bin", "x/y/d.bin"), "x/y/d.bin");
    }

    #[test]
    fn one_tracker_at_a_time() {
        for url in ["", "udp://a\nudp://b", "udp://a|udp://b", "udp://a udp://b"] {
            assert!(one_url(url).is_err(), "{url}");
        }
    }
}
