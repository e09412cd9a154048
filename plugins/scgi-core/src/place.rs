//! Path of a torrent's data.

/// The torrent's own file or folder.
///
/// rTorrent computes `d.base_path` when it opens a torrent: it is empty before, and after a move of a torrent that is
/// closed it still names the old place. The directory is always the present one.
pub fn own_path(base_path: &str, directory: &str, name: &str, is_multi_file: bool) -> String {
    let base = base_path.trim_end_matches('/');
    let present = directory.trim_end_matches('/');
    let is_present = if is_multi_file {
        base == present
    } else {
        base.rsplit_once('/').is_some_and(|(parent, _)| parent == present)
    };
    if !base.is_empty() && is_present {
        base_path.to_owned()
    } else if is_multi_file || name.is_empty() {
        directory.to_owned()
    } else {
        format!("{present}/{name}")
    }
}
