//! Preferences that would lend power: they are judged by their names, so that a plugin that offers them lends none.

/// Parts of names, without anything but letters and digits.
const FENCED: &[(&str, &str)] = &[
    ("autorun", RUNS),
    ("command", RUNS),
    ("exec", RUNS),
    ("hook", RUNS),
    ("program", RUNS),
    ("script", RUNS),
    ("shell", RUNS),
    ("allowremote", REACH),
    ("alternativewebui", REACH),
    ("apikey", REACH),
    ("auth", REACH),
    ("daemon", REACH),
    ("httpserver", REACH),
    ("remoteaccess", REACH),
    ("rpc", REACH),
    ("scgi", REACH),
    ("webapi", REACH),
    ("webinterface", REACH),
    ("webserver", REACH),
    ("webui", REACH),
    ("whitelist", REACH),
    ("dyndns", LOGIN),
    ("mail", LOGIN),
    ("proxy", LOGIN),
    ("smtp", LOGIN),
    ("username", LOGIN),
];

const RUNS: &str = "it runs programs on the client's machine";
const REACH: &str = "it decides who reaches the client";
const LOGIN: &str = "it holds a login for another service, or says where traffic goes";
const DATA: &str = "the client would remove data, and does not ask which other torrents use it";

/// The reason why a preference of this name is not offered; none for one that may be.
pub fn find_reason(name: &str) -> Option<&'static str> {
    let letters: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let part = FENCED.iter().find(|(part, _)| letters.contains(part));
    let reason = part.map(|(_, reason)| *reason);
    reason.or_else(|| removes_data(name).then_some(DATA))
}

/// True for a name or a value by which the client would remove torrents by itself.
pub fn removes(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.contains("remove") || word.contains("delete")
}

/// True for a name or a value by which the client would remove data by itself: it doesn't ask which other torrents use it.
pub fn removes_data(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    removes(word)
        && ["data", "file", "content"]
            .iter()
            .any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_that_lend_power_are_known_by_their_names() {
        for name in [
            "autorun_enabled",
            "autorun_program",
            "autorun_on_torrent_added_program",
            "web_ui_password",
            "web_ui_username",
            "web_ui_address",
            "bypass_auth_subnet_whitelist",
            "bypass_local_auth",
            "allow_remote",
            "daemon_port",
            "torrent_content_remove_option",
            "deleteFilesAtRatio",
            "alternative_webui_path",
            "proxyPassword",
            "proxy_ip",
            "mail_notification_password",
            "dyndns_password",
            "rpc-bind-address",
            "script-torrent-done-filename",
            "scgi.port",
            "execute.throw",
            "runHookOnDone",
        ] {
            assert!(find_reason(name).is_some(), "{name}");
        }
        for name in [
            "listenPort",
            "maxUploadsPerTorrent",
            "defaultSavePath",
            "recheckOnCompletion",
            "announceToAllTrackers",
            "peersWanted",
            "incompleteExtension",
            "removeSeedAtRatio",
        ] {
            assert_eq!(find_reason(name), None, "{name}");
        }
    }

    #[test]
    fn removals_are_known_by_their_words() {
        assert!(removes("remove") && !removes_data("remove"));
        assert!(removes_data("remove-with-data") && removes_data("deleteFiles"));
        assert!(!removes("stop") && !removes("super-seed"));
    }
}
