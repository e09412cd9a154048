//! Options of an add that not every kind of client has: one that a client would drop without a word is refused instead.

use qm_ports::engine::{AddOptions, Limit, ShareAction, capability as c};

/// An ability that a client lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Value of `code` in the answer; it never changes.
    pub code: &'static str,
    /// End of "cannot …".
    pub verb: &'static str,
}

/// The first ability that these options need and a client does not have.
pub fn find_lack(options: &AddOptions, has: impl Fn(&str) -> bool) -> Option<Lack> {
    let limits = options.share_limits.as_ref();
    let is_inactive_limited = limits.is_some_and(|limits| limits.inactive_time != Limit::Inherit);
    let acts = limits.is_some_and(|limits| limits.action != ShareAction::Inherit);
    let needs = [
        (
            options.rename.is_some(),
            c::RENAME,
            "unsupported.rename",
            "rename torrents",
        ),
        (
            options.sequential_download,
            c::SEQUENTIAL,
            "unsupported.sequential",
            "download in order",
        ),
        (
            options.first_last_piece_priority,
            c::FIRST_LAST_PIECE,
            "unsupported.first-last-piece",
            "download first and last pieces first",
        ),
        (
            options.download_path.is_some(),
            c::DOWNLOAD_PATH,
            "unsupported.download-path",
            "keep incomplete data apart",
        ),
        (
            options.auto_manage.is_some(),
            c::AUTO_MANAGE,
            "unsupported.auto-manage",
            "choose paths by the category",
        ),
        (
            limits.is_some(),
            c::SHARE_LIMITS,
            "unsupported.share-limits",
            "keep limits of sharing",
        ),
        (
            is_inactive_limited,
            c::INACTIVE_LIMIT,
            "unsupported.inactive-limit",
            "limit the time in which nobody takes anything",
        ),
        (
            acts,
            c::SHARE_ACTION,
            "unsupported.share-action",
            "choose what happens to a torrent at its limits",
        ),
        (
            options.skip_checking,
            c::SKIP_CHECKING,
            "unsupported.skip-checking",
            "seed without a check",
        ),
        (
            options.content_layout.is_some(),
            c::CONTENT_LAYOUT,
            "unsupported.content-layout",
            "choose the folder around files",
        ),
        (
            options.queue_first,
            c::QUEUE_POSITION,
            "unsupported.queue-position",
            "change the order of a queue",
        ),
        (
            options.stop_when.is_some(),
            c::STOP_WHEN,
            "unsupported.stop-when",
            "stop a torrent by itself",
        ),
    ];
    needs
        .into_iter()
        .find(|(is_asked, word, ..)| *is_asked && !has(word))
        .map(|(_, _, code, verb)| Lack { code, verb })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qm_ports::engine::{ContentLayout, ShareLimits, StopWhen};

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
            assert_eq!(lack.map(|lack| lack.code), Some(code.as_str()));
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
