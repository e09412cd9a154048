//! Abilities that a kind of client may lack, as refusals name them: nothing that a client would drop without a word is asked of it.

use qm_ports::engine::{AddOptions, Limit, ShareAction, capability as c};

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

/// Makes the constants and, for the test, the list of them.
macro_rules! abilities {
    ($($name:ident, $word:expr, $code:literal, $verb:literal;)+) => {
        $(pub static $name: Ability = Ability { word: $word, code: $code, verb: $verb };)+

        #[cfg(test)]
        static ALL: &[&Ability] = &[$(&$name),+];
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
    SHARE_LIMITS, c::SHARE_LIMITS, "unsupported.share-limits", "keep limits of sharing";
    INACTIVE_LIMIT, c::INACTIVE_LIMIT, "unsupported.inactive-limit", "limit the time in which nobody takes anything";
    SHARE_ACTION, c::SHARE_ACTION, "unsupported.share-action", "choose what happens to a torrent at its limits";
    SKIP_CHECKING, c::SKIP_CHECKING, "unsupported.skip-checking", "seed without a check";
    CONTENT_LAYOUT, c::CONTENT_LAYOUT, "unsupported.content-layout", "choose the folder around files";
    STOP_WHEN, c::STOP_WHEN, "unsupported.stop-when", "stop a torrent by itself";
    GLOBAL_LIMITS, c::GLOBAL_LIMITS, "unsupported.global-limits", "limit the speed of all torrents together";
    PREFERENCES, c::PREFERENCES, "unsupported.preferences", "show its preferences";
}

/// The first ability that these options of an add need and a client does not have.
pub fn find_lack(options: &AddOptions, has: impl Fn(&str) -> bool) -> Option<&'static Ability> {
    let limits = options.share_limits.as_ref();
    let is_inactive_limited = limits.is_some_and(|limits| limits.inactive_time != Limit::Inherit);
    let acts = limits.is_some_and(|limits| limits.action != ShareAction::Inherit);
    let needs = [
        (options.rename.is_some(), &RENAME),
        (options.sequential_download, &SEQUENTIAL),
        (options.first_last_piece_priority, &FIRST_LAST),
        (options.download_path.is_some(), &DOWNLOAD_PATH),
        (options.auto_manage.is_some(), &AUTO_MANAGE),
        (limits.is_some(), &SHARE_LIMITS),
        (is_inactive_limited, &INACTIVE_LIMIT),
        (acts, &SHARE_ACTION),
        (options.skip_checking, &SKIP_CHECKING),
        (options.content_layout.is_some(), &CONTENT_LAYOUT),
        (options.queue_first, &QUEUE),
        (options.stop_when.is_some(), &STOP_WHEN),
    ];
    let mut lacks = needs
        .into_iter()
        .filter(|(is_asked, ability)| *is_asked && !has(ability.word));
    lacks.next().map(|(_, ability)| ability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qm_ports::engine::{ContentLayout, ShareLimits, StopWhen};

    #[test]
    fn codes_name_the_word_of_the_interface() {
        for ability in ALL {
            assert_eq!(ability.code, format!("unsupported.{}", ability.word));
        }
    }

    #[test]
    fn each_option_needs_the_ability_that_its_error_names() {
        let limits = |limits: ShareLimits| AddOptions {
            share_limits: Some(limits),
            ..AddOptions::default()
        };
        let with = |change: fn(&mut AddOptions)| {
            let mut options = AddOptions::default();
            change(&mut options);
            options
        };
        for (options, word) in [
            (with(|o| o.rename = Some("n".into())), c::RENAME),
            (with(|o| o.sequential_download = true), c::SEQUENTIAL),
            (with(|o| o.first_last_piece_priority = true), c::FIRST_LAST_PIECE),
            (with(|o| o.download_path = Some("/d".into())), c::DOWNLOAD_PATH),
            (with(|o| o.auto_manage = Some(false)), c::AUTO_MANAGE),
            (limits(ShareLimits::default()), c::SHARE_LIMITS),
            (
                limits(ShareLimits {
                    inactive_time: Limit::At(1),
                    ..ShareLimits::default()
                }),
                c::INACTIVE_LIMIT,
            ),
            (
                limits(ShareLimits {
                    action: ShareAction::Stop,
                    ..ShareLimits::default()
                }),
                c::SHARE_ACTION,
            ),
            (with(|o| o.skip_checking = true), c::SKIP_CHECKING),
            (
                with(|o| o.content_layout = Some(ContentLayout::Original)),
                c::CONTENT_LAYOUT,
            ),
            (with(|o| o.queue_first = true), c::QUEUE_POSITION),
            (with(|o| o.stop_when = Some(StopWhen::FilesChecked)), c::STOP_WHEN),
        ] {
            let lack = find_lack(&options, |other| other != word);
            let code = format!("unsupported.{word}");
            assert_eq!(lack.map(|ability| ability.code), Some(code.as_str()));
            assert_eq!(find_lack(&options, |_| true), None, "{word}");
        }
        let plain = with(|o| {
            o.save_path = Some("/d".into());
            o.tags = vec!["a".into()];
            o.upload_limit = Some(1);
        });
        assert_eq!(find_lack(&plain, |_| false), None, "every kind can do that");
    }
}
