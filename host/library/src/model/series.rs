//! Series as the browser groups episodes: by the folder that holds them, or by their title where none does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::name::{is_extras, is_release_folder, is_season};
use super::place;

/// The folder of a show, of a path below its library, as people are shown it; `None` where no proper folder holds the file.
pub fn show_folder(shown: &str) -> Option<&str> {
    let (mut folder, _) = shown.rsplit_once('/')?;
    loop {
        let (above, name) = folder
            .rsplit_once('/')
            .map_or((None, folder), |(above, name)| (Some(above), name));
        let climbs = is_season(name) || is_extras(name) || is_release_folder(name);
        match (climbs, above) {
            (false, _) => return Some(folder),
            (true, Some(above)) => folder = above,
            (true, None) if is_season(name) => return None,
            (true, None) => return Some(folder),
        }
    }
}

/// Key and title of the series of an item: a library's path, the item's place in it, and its title.
pub fn series_of(library: &str, item: &str, title: &str) -> (String, String) {
    let shown = place::shown(item);
    let (key, title) = match show_folder(&shown) {
        Some(folder) => {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            (
                format!("dir:{}", place::absolute(library, folder)),
                name.to_owned(),
            )
        }
        None => (format!("title:{title}"), title.to_owned()),
    };
    (URL_SAFE_NO_PAD.encode(key), title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_show_is_the_folder_above_its_seasons() {
        for (path, expected) in [
            ("The Wire/Season 1/a.mkv", Some("The Wire")),
            ("The Wire/a.mkv", Some("The Wire")),
            ("The Wire/Extras/a.mkv", Some("The Wire")),
            ("The Wire/The.Wire.S01.1080p-GRP/a.mkv", Some("The Wire")),
            ("Season 1/a.mkv", None),
            ("a.mkv", None),
        ] {
            assert_eq!(show_folder(path), expected, "{path}");
        }
        let (key, title) = series_of("/tv", "The Wire/Season 1/a.mkv", "x");
        assert_eq!(
            (key, &*title),
            (URL_SAFE_NO_PAD.encode("dir:/tv/The Wire"), "The Wire")
        );
        assert_eq!(
            series_of("/tv", "a.mkv", "x").0,
            URL_SAFE_NO_PAD.encode("title:x")
        );
    }
}
