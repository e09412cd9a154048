//! Abilities that a kind of client may lack, as refusals name them.

use qm_ports::engine::capability as c;

/// An ability of a client.
#[derive(Debug, PartialEq, Eq)]
pub struct Ability {
    /// Word of the plugin interface.
    pub word: &'static str,
    /// Value of `code` where it lacks; never changes.
    pub code: &'static str,
    /// End of "cannot …".
    pub verb: &'static str,
}

/// Makes the constants and the list of them.
macro_rules! abilities {
    ($($name:ident, $word:expr, $code:literal, $verb:literal;)+) => {
        $(pub static $name: Ability = Ability { word: $word, code: $code, verb: $verb };)+

        /// Every ability that a command here asks for.
        pub static ALL: &[&Ability] = &[$(&$name),+];
    };
}

abilities! {
    RENAME, c::RENAME, "unsupported.rename", "rename torrents";
    RENAME_FILE, c::RENAME_FILE, "unsupported.rename-file", "rename files of torrents";
    RENAME_FOLDER, c::RENAME_FOLDER, "unsupported.rename-folder", "rename folders of torrents";
    REANNOUNCE, c::REANNOUNCE, "unsupported.reannounce", "announce on demand";
    QUEUE, c::QUEUE_POSITION, "unsupported.queue-position", "change the order of a queue";
    SEQUENTIAL, c::SEQUENTIAL, "unsupported.sequential", "download in order";
    FIRST_LAST, c::FIRST_LAST_PIECE, "unsupported.first-last-piece", "download first and last pieces first";
    SUPER_SEEDING, c::SUPER_SEEDING, "unsupported.super-seeding", "super-seed";
    AUTO_MANAGE, c::AUTO_MANAGE, "unsupported.auto-manage", "choose paths by the category";
    DOWNLOAD_PATH, c::DOWNLOAD_PATH, "unsupported.download-path", "keep incomplete data apart";
    REPLACE_TRACKER, c::REPLACE_TRACKER, "unsupported.replace-tracker", "replace trackers";
    BAN_PEERS, c::BAN_PEERS, "unsupported.ban-peers", "ban peers";
    EXPORT, c::EXPORT, "unsupported.export", "hand out .torrent files";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_name_the_word_of_the_interface() {
        for ability in ALL {
            assert_eq!(ability.code, format!("unsupported.{}", ability.word));
        }
    }
}
