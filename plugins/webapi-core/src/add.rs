//! Handing a torrent to the client.

use serde::Deserialize;

use crate::commands::{LOOKS_MS, share_fields};
use crate::encode::Multipart;
use crate::error::{Error, clean};
use crate::http::{Answer, Clock, Http};
use crate::link::{Body, Call, SMALL, no_such_call};
use crate::session::Session;
use crate::values::Num;
use engine_model::{AddOptions, AddRequest, Command, ContentLayout, Source, StopWhen};

/// Counts that clients from 5.2 on may answer instead of `Ok.`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(rename = "success_count")]
    taken: Num,
    #[serde(rename = "pending_count")]
    pending: Num,
    #[serde(rename = "failure_count")]
    refused: Num,
}

impl<H: Http, C: Clock> Session<H, C> {
    /// Returns once the client took it; it may not be listed yet. A torrent that is there already is a success.
    pub fn add(&mut self, request: &AddRequest) -> Result<(), Error> {
        if let Source::Magnet(link) = &request.source
            && link.chars().any(|c| c.is_whitespace() || c.is_control())
        {
            // The client takes several, one a line.
            return Err(Error::Rejected("the magnet link contains blanks".into()));
        }
        if let Some(limits) = &request.options.share_limits {
            self.check_limits(limits)?;
        }
        let content_type = multipart(request).content_type();
        let call = Call {
            path: "/torrents/add",
            query: &[],
            body: Body::Made {
                content_type: &content_type,
                make: &|| finished(request),
            },
            max_body: SMALL,
            forbids: false,
        };
        let refused = match self.link.call(&call).map_err(no_such_call) {
            Ok(mut answer) => match refusal(&answer.read_to_end()?) {
                None => {
                    // It is taken, wherever it waits: an error would have it added once more.
                    let _ = self.put_first(request);
                    return Ok(());
                }
                Some(text) => text,
            },
            Err(Error::Rejected(text)) => text,
            Err(other) => return Err(other),
        };
        // A client also refuses what it has already, and does not say which of the two it was.
        match self.get(&request.hash)? {
            Some(_) => Ok(()),
            None => Err(Error::Rejected(refused)),
        }
    }
}

impl<H: Http, C: Clock> Session<H, C> {
    /// A 4.x client may not know the option of an add, but has the command. One without a queue has no order to change.
    fn put_first(&mut self, request: &AddRequest) -> Result<(), Error> {
        if !request.options.queue_first || self.has_new_verbs()? {
            return Ok(());
        }
        for pause in LOOKS_MS {
            self.link.clock.sleep_ms(pause);
            if self.get(&request.hash)?.is_some() {
                let hashes = [request.hash.clone()];
                return self.run(&hashes, &Command::TorrentPriority(3)).map(|_| ());
            }
        }
        Ok(())
    }
}

/// Reason for a refusal in an answer of 2xx; `None` when it tells of no refusal.
fn refusal(body: &[u8]) -> Option<String> {
    if body.trim_ascii() == b"Fails." {
        return Some("the client does not accept this torrent".into());
    }
    let counts: Counts = serde_json::from_slice(body).ok()?;
    let taken = counts.taken.unsigned().saturating_add(counts.pending.unsigned());
    (taken == 0 && counts.refused.unsigned() > 0).then(|| clean(body))
}

fn multipart(request: &AddRequest) -> Multipart {
    match &request.source {
        Source::Magnet(link) => Multipart::new(&[link.as_bytes()]),
        Source::Metainfo(bytes) => Multipart::new(&[bytes]),
    }
}

fn finished(request: &AddRequest) -> Vec<u8> {
    let mut form = multipart(request);
    match &request.source {
        Source::Magnet(link) => form.field("urls", link),
        Source::Metainfo(bytes) => form.file("torrents", "file.torrent", "application/x-bittorrent", bytes),
    }
    for (name, value) in option_fields(&request.options) {
        form.field(name, &value);
    }
    form.finish()
}

/// Form fields of the options. Options that are not set are left out: the client then uses its own settings.
fn option_fields(options: &AddOptions) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    let texts = [
        ("savepath", &options.save_path),
        ("category", &options.category),
        ("rename", &options.rename),
        ("downloadPath", &options.download_path),
    ];
    for (name, value) in texts {
        fields.extend(
            value
                .as_ref()
                .filter(|value| !value.is_empty())
                .map(|value| (name, value.clone())),
        );
    }
    if !options.tags.is_empty() {
        fields.push(("tags", options.tags.join(",")));
    }
    let flags = [
        ("paused", options.start_paused),  // up to 4.6
        ("stopped", options.start_paused), // from 5.0
        ("sequentialDownload", options.sequential_download),
        ("firstLastPiecePrio", options.first_last_piece_priority),
        ("useDownloadPath", options.download_path.is_some()),
        ("skip_checking", options.skip_checking), // up to 5.2
        ("seedMode", options.skip_checking),      // from 5.3
        ("addToTopOfQueue", options.queue_first),
    ];
    fields.extend(
        flags
            .iter()
            .filter(|(_, on)| *on)
            .map(|(name, _)| (*name, "true".to_owned())),
    );
    let limits = [
        ("upLimit", options.upload_limit),
        ("dlLimit", options.download_limit),
    ];
    fields.extend(
        limits
            .iter()
            .filter_map(|(name, limit)| Some((*name, (*limit)?.to_string()))),
    );
    fields.extend(options.auto_manage.map(|on| ("autoTMM", on.to_string())));
    fields.extend(options.share_limits.iter().flat_map(share_fields));
    let layout = options.content_layout.map(|layout| match layout {
        ContentLayout::Original => "Original",
        ContentLayout::Subfolder => "Subfolder",
        ContentLayout::NoSubfolder => "NoSubfolder",
    });
    fields.extend(layout.map(|word| ("contentLayout", word.to_owned())));
    let stop = options.stop_when.map(|when| match when {
        StopWhen::MetadataReceived => "MetadataReceived",
        StopWhen::FilesChecked => "FilesChecked",
    });
    fields.extend(stop.map(|word| ("stopCondition", word.to_owned())));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_tell_whether_it_was_taken() {
        for (body, taken) in [
            ("Ok.", true),
            ("", true),
            ("Fails.", false),
            ("Fails.\n", false),
            (r#"{"success_count":1,"failure_count":0,"pending_count":0}"#, true),
            (r#"{"success_count":0,"failure_count":0,"pending_count":1}"#, true),
            (
                r#"{"success_count":0,"failure_count":1,"pending_count":0}"#,
                false,
            ),
        ] {
            assert_eq!(refusal(body.as_bytes()).is_none(), taken, "{body}");
        }
    }

    #[test]
    fn unset_options_are_left_out() {
        assert!(option_fields(&AddOptions::default()).is_empty());
        let all = AddOptions {
            category: Some("tv".into()),
            tags: vec!["a".into(), "b".into()],
            save_path: Some("/d".into()),
            rename: Some("n".into()),
            start_paused: true,
            sequential_download: true,
            first_last_piece_priority: true,
            upload_limit: Some(1),
            download_limit: Some(0),
            download_path: Some("/i".into()),
            auto_manage: Some(false),
            share_limits: Some(engine_model::ShareLimits {
                ratio: engine_model::Limit::At(1.5),
                ..Default::default()
            }),
            skip_checking: true,
            content_layout: Some(ContentLayout::NoSubfolder),
            queue_first: true,
            stop_when: Some(StopWhen::FilesChecked),
        };
        let fields = option_fields(&all);
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            fields.join(" "),
            "savepath=/d category=tv rename=n downloadPath=/i tags=a,b paused=true stopped=true \
             sequentialDownload=true firstLastPiecePrio=true useDownloadPath=true skip_checking=true seedMode=true \
             addToTopOfQueue=true upLimit=1 dlLimit=0 autoTMM=false ratioLimit=1.5 seedingTimeLimit=-2 \
             inactiveSeedingTimeLimit=-2 shareLimitAction=Default contentLayout=NoSubfolder stopCondition=FilesChecked"
        );
    }
}
