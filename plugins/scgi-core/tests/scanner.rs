//! Property: no bytes make the scanner panic, and the result does not depend on how they are cut into pieces.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use engine_model::{Attention, Torrent};
use proptest::prelude::*;
use scgi_core::xml::parse_response;
use scgi_core::{Client, Error, Poller, Summary};
use support::script::{Frozen, Script, endpoint, pieces};

const HEAD: &str = "Status: 200 OK\r\nContent-Type: text/xml\r\n\r\n";

fn row(number: u32, name: &str, message: &str) -> String {
    format!(
        "<value><array><data>\r\n<value><string>{number:040X} 1000 {number} 7 0 0 10 1 1 0 1 0 2 1 2 3 9 {message}</string></value>\r\n\
         <value><string>/d</string></value>\r\n<value><string>0 0 5 0 0 seed</string></value>\r\n\
         <value><string>{name}</string></value>\r\n<value><string></string></value>\r\n<value/>\r\n<value><string>3:1:0:0:0/</string></value>\r\n</data></array></value>\r\n"
    )
}

/// A whole answer to the first poll.
fn list(rows: &str) -> String {
    let simple = "<value><array><data>\r\n<value><i8>5</i8></value>\r\n</data></array></value>\r\n".repeat(4);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<methodResponse>\r\n<params>\r\n<param><value><array><data>\r\n\
         {simple}<value><array><data>\r\n<value><array><data>\r\n{rows}</data></array></value>\r\n</data></array></value>\r\n\
         </data></array></value></param>\r\n</params>\r\n</methodResponse>\r\n"
    )
}

fn poll(bytes: &[u8], cuts: &[usize]) -> Result<(Summary, Vec<Torrent>), Error> {
    let script = Script::default();
    script.answer(pieces(bytes, cuts));
    let client = Client::new(endpoint(), 1000, script, Frozen::default());
    let mut told = Vec::new();
    let summary = Poller::default().poll(&client, None, Attention::Watched, &mut |torrent| {
        told.push(torrent);
    })?;
    Ok((summary, told))
}

/// The same outcome, byte positions in texts of errors aside.
fn same(
    left: &Result<(Summary, Vec<Torrent>), Error>,
    right: &Result<(Summary, Vec<Torrent>), Error>,
) -> bool {
    match (left, right) {
        (Ok(left), Ok(right)) => left == right,
        (Err(left), Err(right)) => std::mem::discriminant(left) == std::mem::discriminant(right),
        _ => false,
    }
}

fn valid_list() -> impl Strategy<Value = String> {
    prop::collection::vec(("[ -~é]{0,20}", "[a-z &;]{0,12}"), 0..12).prop_map(|torrents| {
        let escape = |text: &str| {
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
        };
        let rows: String = (1..)
            .zip(&torrents)
            .map(|(number, (name, message))| row(number, &escape(name), &escape(message)))
            .collect();
        list(&rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        let _ = parse_response(&bytes);
        let whole = poll(&bytes, &[]);
        prop_assert!(same(&whole, &poll(&bytes, &cuts)));
        prop_assert!(whole.is_err());
    }

    #[test]
    fn arbitrary_tags(words in prop::collection::vec(prop::sample::select(vec![
        "<methodResponse>", "<params>", "<param>", "<value>", "<array>", "<data>", "</data>", "</array>", "</value>", "<struct>",
        "</struct>", "<member>", "</member>", "<name>", "</name>", "<fault>", "<i4>", "</i4>", "<string>", "</string>", "<value/>",
        "<string/>", "<data/>", "<array/>", "x", " ", "<", ">", "</methodResponse>", "<?xml?>", "<!--", "<nil/>",
    ]), 0..60), cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        let xml = words.concat();
        let _ = parse_response(xml.as_bytes());
        let _ = parse_response(format!("<methodResponse>{xml}").as_bytes());
        let bytes = format!("{HEAD}<methodResponse>{xml}");
        prop_assert!(same(&poll(bytes.as_bytes(), &[]), &poll(bytes.as_bytes(), &cuts)));
    }

    #[test]
    fn pieces_do_not_matter(xml in valid_list(), cuts in prop::collection::vec(any::<usize>(), 0..40)) {
        let bytes = format!("{HEAD}{xml}").into_bytes();
        let whole = poll(&bytes, &[]);
        prop_assert!(whole.is_ok(), "{whole:?}");
        prop_assert_eq!(whole, poll(&bytes, &cuts));
    }

    #[test]
    fn broken_lists(xml in valid_list(), at in any::<usize>(), byte in any::<u8>(), cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        let mut bytes = format!("{HEAD}{xml}").into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = parse_response(&bytes[HEAD.len()..]);
        prop_assert!(same(&poll(&bytes, &[]), &poll(&bytes, &cuts)));
    }

    #[test]
    fn half_lists(xml in valid_list(), at in any::<usize>(), cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        let bytes = format!("{HEAD}{xml}").into_bytes();
        let end = bytes.len() - "</methodResponse>\r\n".len();
        let half = &bytes[..HEAD.len() + 1 + at % (end - HEAD.len() - 1)];
        prop_assert!(matches!(poll(half, &cuts), Err(Error::Protocol(_))));
        prop_assert!(parse_response(&half[HEAD.len()..]).is_err());
    }
}

#[test]
fn one_byte_at_a_time() {
    let bytes = format!("{HEAD}{}", list(&(row(1, "a", "") + &row(2, "b", "m")))).into_bytes();
    let cuts: Vec<usize> = (0..bytes.len()).collect();
    let (summary, told) = poll(&bytes, &cuts).unwrap();
    assert_eq!(
        told.iter()
            .map(|torrent| torrent.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!((summary.stats.torrent_count, summary.stats.download_rate), (2, 5));
}

#[test]
fn what_is_no_list_is_refused() {
    let fault = "<struct><member><name>faultCode</name><value><i4>-501</i4></value></member>\
                 <member><name>faultString</name><value><string>Could not find info-hash.</string></value></member></struct>";
    let nested = "<value><array><data>".repeat(40);
    let cases = [
        String::new(),
        "no header at all".to_owned(),
        "x".repeat(20_000),
        HEAD.to_owned() + "garbage",
        HEAD.to_owned() + "<html><body>502</body></html>",
        HEAD.to_owned()
            + &format!(
                "<?xml version=\"1.0\"?><methodResponse><fault><value>{fault}</value></fault></methodResponse>"
            ),
        HEAD.to_owned() + &list(&format!("<value>{fault}</value>")),
        HEAD.to_owned() + &list(&(row(1, "a", "") + &format!("<value>{fault}</value>") + &row(2, "b", ""))),
        HEAD.to_owned() + &list("<value><string>x</string></value>"),
        HEAD.to_owned() + &list("<value><array><data><value>only</value></data></array></value>"),
        HEAD.to_owned() + &list(&row(1, "<b>", "")),
        HEAD.to_owned() + &format!("<methodResponse><params><param>{nested}"),
        HEAD.to_owned()
            + &list(&format!(
                "<value><array><data><value><string>{}",
                "x".repeat(5 << 20)
            )),
    ];
    for case in cases {
        let shown: String = case.chars().take(300).collect();
        let outcome = poll(case.as_bytes(), &[]);
        assert!(
            matches!(outcome, Err(Error::Protocol(_) | Error::Unreachable(_))),
            "{shown}: {outcome:?}"
        );
    }
}
