//! Properties of every answer, whatever its bytes were. The fuzz target checks the same.

use torznab_core::{Answer, Fault, caps, document, feed};

/// Reads an answer as whatever it may be; panics when that breaks what the reader promises.
pub fn assert_sound(body: &[u8]) {
    for status in [200, 403, 429, 503] {
        for content_type in [None, Some("text/xml; charset=windows-1251")] {
            let answer = Answer {
                status,
                content_type,
                retry_after: Some("Wed, 01 May 2024 08:01:00 GMT"),
                body,
                now: 1_714_550_400_000,
            };
            match document(answer, "a feed") {
                Ok((text, odd)) => {
                    assert_eq!(status, 200);
                    assert!(odd.is_none_or(|odd| odd.len() < 512));
                    assert_documents(&text, body.len());
                }
                Err(fault) => assert_fault(&fault),
            }
        }
    }
}

fn assert_documents(text: &str, given: usize) {
    match caps(text) {
        Ok(caps) => {
            assert!(caps.categories.len() <= 1000);
            let kept: usize = caps.categories.iter().map(|category| category.name.len()).sum();
            let kept = kept + caps.supported_params.iter().map(String::len).sum::<usize>();
            assert_small(kept, given);
            assert!(caps.warnings.iter().all(|warning| warning.len() < 1024));
        }
        Err(fault) => assert_fault(&fault),
    }
    match feed(text, Some("http://indexer.example/api")) {
        Ok(found) => {
            assert!(found.releases.len() <= 10_000);
            let mut kept = 0;
            for release in &found.releases {
                assert!(release.size != Some(0), "{release:?}");
                assert!(release.categories.len() <= 64, "{release:?}");
                let hash = release.info_hash.as_deref();
                assert!(
                    hash.is_none_or(|hash| !hash.bytes().any(|byte| byte.is_ascii_uppercase())),
                    "{release:?}"
                );
                let texts = [
                    &release.download_url,
                    &release.info_hash,
                    &release.guid,
                    &release.page,
                ];
                kept += release.title.len() + texts.into_iter().flatten().map(String::len).sum::<usize>();
                kept += release
                    .extra
                    .iter()
                    .map(|(name, value)| name.len() + value.len())
                    .sum::<usize>();
            }
            assert_small(kept, given);
            assert!(found.warnings.iter().all(|warning| warning.len() < 1024));
        }
        Err(fault) => assert_fault(&fault),
    }
}

fn assert_small(kept: usize, given: usize) {
    assert!(kept <= 16 * given + 1024, "{kept} bytes of {given}");
}

fn assert_fault(fault: &Fault) {
    let text = match fault {
        Fault::Auth(text) | Fault::LoginPage(text) | Fault::Captcha(text) | Fault::Unparsable(text) => text,
        Fault::Throttled { seconds, message } => {
            assert!(seconds.is_none_or(|seconds| seconds <= 24 * 3600));
            message
        }
        Fault::Api { code, description } => {
            assert!(code.len() < 512);
            description
        }
        Fault::Status { message, .. } => message,
    };
    assert!(!text.is_empty() && text.len() < 4096, "{text}");
}
