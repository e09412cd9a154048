//! Cards of events other than playback.

use qm_platform::notification::{NotificationSpec, Severity};

use super::text::{Words, avatar, fact};
use crate::model::presentation::{
    Accent, Action, Fact, Headline, Icon, Presentation, Progress, Summary, VERSION,
};

/// A card with the common fields filled.
pub fn card(
    def: &NotificationSpec,
    words: &Words<'_>,
    (accent, icon): (Accent, Icon),
    headline: (&str, &str),
    (text, emphasis): (String, Option<String>),
) -> Presentation {
    Presentation {
        version: VERSION,
        event_key: def.key.to_owned(),
        accent,
        icon,
        headline: Headline {
            lead: headline.0.to_owned(),
            trail: headline.1.to_owned(),
        },
        summary: Summary { text, emphasis },
        avatar: None,
        artwork: None,
        media: None,
        context: None,
        facts: Vec::new(),
        progress: None,
        status: None,
        action: None,
        timestamp: words.at,
    }
}

pub fn action(label: &str, href: &str) -> Action {
    Action {
        label: label.to_owned(),
        href: href.to_owned(),
        icon: None,
    }
}

fn accent(def: &NotificationSpec) -> Accent {
    match def.severity {
        Severity::Info => Accent::Neutral,
        Severity::Success => Accent::Success,
        Severity::Warning => Accent::Warning,
        Severity::Error => Accent::Error,
    }
}

pub fn torrent(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let name = words.text("torrentName")?;
    let failed = matches!(def.severity, Severity::Error | Severity::Warning);
    let (icon, trail, what) = match (def.key, failed) {
        ("torrent.limit_reached", _) => (
            Icon::Download,
            "reached its limit",
            "reached its limit of sharing",
        ),
        ("torrent.limit_failed", _) => {
            let what = "reached its limit of sharing, but what it says was not done";
            (Icon::Alert, "goes on past its limit", what)
        }
        (_, true) => (Icon::Alert, "failed", "failed"),
        (_, false) => (Icon::Download, "completed", "finished downloading"),
    };
    let mut facts = vec![fact(Icon::Download, "Name", &*name), words.time()];
    if failed {
        facts.extend(
            words
                .text("reason")
                .map(|reason| fact(Icon::Alert, "Reason", reason)),
        );
    }
    Some(Presentation {
        facts,
        action: Some(action("Open torrents", "/torrents")),
        ..card(
            def,
            words,
            (accent(def), icon),
            ("Download", trail),
            (format!("{name} {what}"), Some(name)),
        )
    })
}

pub fn notice(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let title = words.text("noticeTitle")?;
    Some(Presentation {
        context: words.text("noticeText"),
        facts: vec![words.time()],
        action: Some(action("Open automation", "/automation")),
        ..card(
            def,
            words,
            (accent(def), Icon::Workflow),
            ("Rule", "notice"),
            (title, None),
        )
    })
}

pub fn storage(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let (path, free) = (words.text("path")?, words.percent("freePercent")?);
    let (trail, text) = match def.severity {
        Severity::Error => ("almost full", format!("Only {free}% is free on {path}")),
        Severity::Success => ("recovered", format!("{free}% is free again on {path}")),
        Severity::Info | Severity::Warning => ("running low", format!("{free}% is free on {path}")),
    };
    let facts = vec![
        fact(Icon::Disk, "Location", &*path),
        fact(Icon::Percent, "Free", format!("{free}%")),
        words.time(),
    ];
    Some(Presentation {
        facts,
        progress: Some(Progress {
            percent: free,
            label: "Free space".to_owned(),
            position_label: None,
        }),
        action: Some(action("Open system", "/system")),
        ..card(
            def,
            words,
            (accent(def), Icon::Disk),
            ("Storage", trail),
            (text, Some(path)),
        )
    })
}

pub fn provider(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let name = words.first(&["providerName", "serverName"])?;
    let (lead, trail, what) = match def.severity {
        Severity::Success => ("Connection", "restored", "is back online"),
        Severity::Error => ("Connection", "lost", "is offline"),
        Severity::Info | Severity::Warning => ("Refresh", "failed", "could not be refreshed"),
    };
    Some(Presentation {
        facts: vec![fact(Icon::Server, "Server", &*name), words.time()],
        action: Some(action("Open engines", "/engines")),
        ..card(
            def,
            words,
            (accent(def), Icon::Plug),
            (lead, trail),
            (format!("{name} {what}"), Some(name)),
        )
    })
}

pub fn security(def: &NotificationSpec, words: &Words<'_>) -> Presentation {
    let account = words.first(&["displayName", "username"]);
    let key = words.text("keyName");
    let (headline, text, subject): (_, String, Option<(&str, String)>) = match def.key {
        "security.password_changed" => (
            ("Password", "changed"),
            "The password of your account was changed".to_owned(),
            None,
        ),
        "security.two_factor_disabled" => (
            ("Two-factor sign-in", "turned off"),
            "Two-factor sign-in of your account was turned off".to_owned(),
            None,
        ),
        "security.api_key_created" => (
            ("API key", "created"),
            match &key {
                Some(key) => format!("An API key was created: {key}"),
                None => "An API key was created".to_owned(),
            },
            key.map(|key| ("Key", key)),
        ),
        _ => (
            ("Sign-in", "failed"),
            match words.number("attempts") {
                Some(attempts) => format!("{attempts} attempts to sign in to your account failed in a row"),
                None => "Attempts to sign in to your account failed".to_owned(),
            },
            account.map(|account| ("Account", account)),
        ),
    };
    let mut facts: Vec<Fact> = Vec::new();
    facts.extend(
        subject
            .iter()
            .map(|(label, value)| fact(Icon::User, label, &**value)),
    );
    facts.push(words.time());
    // Only words that occur in the sentence can be emphasised.
    let emphasis = subject
        .map(|(_, value)| value)
        .filter(|value| text.contains(&**value));
    Presentation {
        facts,
        action: Some(action("Open account", "/account")),
        ..card(
            def,
            words,
            (Accent::Warning, Icon::Shield),
            headline,
            (text, emphasis),
        )
    }
}

pub fn user(def: &NotificationSpec, words: &Words<'_>) -> Option<Presentation> {
    let name = words.first(&["displayName", "username"])?;
    let (headline, text) = if def.severity == Severity::Info {
        (
            ("Account", "created"),
            format!("An account was created for {name}"),
        )
    } else {
        (("Roles", "changed"), format!("Other roles were given to {name}"))
    };
    Some(Presentation {
        avatar: Some(avatar(&name)),
        facts: vec![fact(Icon::User, "Account", &*name), words.time()],
        action: Some(action("Open users", "/users")),
        ..card(
            def,
            words,
            (accent(def), Icon::User),
            headline,
            (text, Some(name)),
        )
    })
}
