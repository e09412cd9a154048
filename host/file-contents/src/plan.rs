//! Answers to requests for ranges: which bytes are sent, under which headers.

use http::StatusCode;

use super::media::{Content, Media};
use super::range::{Asked, Span};

/// The answer to a request for bytes: its headers, and the pieces of its body.
pub struct Plan {
    pub status: StatusCode,
    pub content_type: String,
    pub content_range: Option<String>,
    pub length: u64,
    pub pieces: Vec<Content>,
}

impl Plan {
    /// The whole file.
    pub fn whole(media: &Media) -> Self {
        Self::new(media, Asked::Whole, String::new)
    }

    /// The parts that were asked for; `boundary` marks them where they are several.
    pub fn new(media: &Media, wanted: Asked, boundary: impl FnOnce() -> String) -> Self {
        let size = media.size;
        let plan = |status, content_range, span: Span| Plan {
            status,
            content_type: media.mime.to_owned(),
            content_range,
            length: span.len(),
            pieces: vec![Content::Span(span)],
        };
        let whole = Span { start: 0, end: size };
        match wanted {
            Asked::Whole => plan(StatusCode::OK, None, whole),
            Asked::One(span) => plan(StatusCode::PARTIAL_CONTENT, Some(span.content_range(size)), span),
            Asked::Nothing => Plan {
                pieces: Vec::new(),
                length: 0,
                ..plan(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    Some(format!("bytes */{size}")),
                    whole,
                )
            },
            Asked::Several(spans) => Self::several(media, &spans, &boundary()),
        }
    }

    /// A part a range, each with its own headers.
    fn several(media: &Media, spans: &[Span], boundary: &str) -> Self {
        let mut length = 0;
        let mut pieces = Vec::with_capacity(spans.len() * 2 + 1);
        for (index, span) in spans.iter().enumerate() {
            let head = format!(
                "{}--{boundary}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
                if index == 0 { "" } else { "\r\n" },
                media.mime,
                span.content_range(media.size),
            );
            length += head.len() as u64 + span.len();
            pieces.push(Content::Text(head.into()));
            pieces.push(Content::Span(*span));
        }
        let end = format!("\r\n--{boundary}--\r\n");
        length += end.len() as u64;
        pieces.push(Content::Text(end.into()));
        Self {
            status: StatusCode::PARTIAL_CONTENT,
            content_type: format!("multipart/byteranges; boundary={boundary}"),
            content_range: None,
            length,
            pieces,
        }
    }
}
