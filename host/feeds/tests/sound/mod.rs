//! Properties of every answer of the reader, whatever the bytes were. The fuzz target checks the same.

use qm_feeds::{Document, FeedError, MAX_ITEMS, MAX_MAGNET, MAX_TITLE, MAX_URL};

/// Panics when an answer breaks what `qm_feeds` promises.
pub fn assert_sound(read: &Result<Document, FeedError>, given: usize) {
    match read {
        Ok(document) => assert_document(document, given),
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 2048 && is_line(&text), "{text:?}");
        }
    }
}

fn assert_document(document: &Document, given: usize) {
    assert!(document.items.len() <= MAX_ITEMS);
    assert!(
        document.left_out == 0
            || document.items.len() + document.left_out > MAX_ITEMS
            || !document.warnings.is_empty()
    );
    assert!(document.warnings.len() <= 16);
    for warning in &document.warnings {
        assert!(is_line(warning) && warning.len() < 1024, "{warning:?}");
    }
    let mut kept = 0;
    if let Some(text) = &document.title {
        assert!(is_line(text) && text.len() <= MAX_TITLE, "{text:?}");
    }
    for item in &document.items {
        assert!(is_line(&item.guid) && item.guid.len() <= MAX_MAGNET, "{item:?}");
        assert!(
            item.title.is_empty() || is_line(&item.title) && item.title.len() <= MAX_TITLE,
            "{item:?}"
        );
        if let Some(link) = &item.link {
            let lower = link.to_ascii_lowercase();
            let known = ["http://", "https://", "magnet:"]
                .iter()
                .any(|scheme| lower.starts_with(scheme));
            assert!(known && is_plain(link), "{item:?}");
            assert!(
                link.len()
                    <= if lower.starts_with("magnet:") {
                        MAX_MAGNET
                    } else {
                        MAX_URL
                    },
                "{item:?}"
            );
        }
        if let Some(magnet) = &item.magnet {
            assert!(
                magnet.to_ascii_lowercase().starts_with("magnet:") && is_plain(magnet),
                "{item:?}"
            );
            assert!(magnet.len() <= MAX_MAGNET, "{item:?}");
        }
        if let Some(hash) = &item.info_hash {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            assert!(hash.len() == 40 && hash.bytes().all(is_digit), "{item:?}");
        }
        assert!(
            item.size
                .is_none_or(|size| size > 0 && i64::try_from(size).is_ok()),
            "{item:?}"
        );
        assert!(item.published.is_none_or(|at| at >= 0), "{item:?}");
        assert!(item.categories.len() <= 64, "{item:?}");
        assert!(
            item.categories
                .iter()
                .all(|category| is_line(category) && category.len() <= 128),
            "{item:?}"
        );
        assert_eq!(item.download(), item.magnet.as_deref().or(item.link.as_deref()));
        kept += item.guid.len() + item.title.len() + item.categories.iter().map(String::len).sum::<usize>();
        kept += item.link.as_ref().map_or(0, String::len) + item.magnet.as_ref().map_or(0, String::len);
    }
    // Nothing grows: a text stands in an item four times at most, and one byte becomes three at most.
    assert!(kept <= 16 * given + 1024, "{kept} bytes of {given}");
}

fn is_plain(text: &str) -> bool {
    !text.contains(char::is_control) && text.trim() == text && !text.is_empty()
}

/// One line with something in it.
fn is_line(text: &str) -> bool {
    is_plain(text)
}
