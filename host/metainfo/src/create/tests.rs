use super::*;
use crate::bencode::{self, Node};
use crate::{Contents, Metainfo};

fn file(path: &[&str], size: u64) -> PlannedFile {
    PlannedFile {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        size,
    }
}

fn hybrid() -> Options {
    Options {
        format: Format::Hybrid,
        ..Options::default()
    }
}

/// Message of a refused folder.
fn fault(files: Vec<PlannedFile>, options: Options) -> String {
    Plan::of_folder("pack", files, options).map_or_else(|error| error.to_string(), |_| "none".into())
}

#[test]
fn names_that_clients_change_are_refused() {
    let long = |bytes: usize| "n".repeat(bytes);
    for (name, expected) in [
        ("", "is empty"),
        ("..", "is `.` or `..`"),
        (".", "is `.` or `..`"),
        ("a/b", "has a slash in it"),
        ("a\0b", "has a NUL in it"),
        ("a\\b", "has a backslash in it, which torrent clients leave out"),
        (
            "a\nb",
            "has a control character in it, which torrent clients replace",
        ),
        (
            "a\u{85}b",
            "has a control character in it, which torrent clients replace",
        ),
        (
            "a\u{202e}b",
            "has an invisible character in it, which torrent clients leave out",
        ),
        (
            "\u{feff}a",
            "has an invisible character in it, which torrent clients leave out",
        ),
        (
            &long(241),
            "is longer than 240 bytes, and torrent clients would cut it",
        ),
    ] {
        for message in [
            fault(vec![file(&["d", name], 1)], Options::default()),
            fault(vec![file(&[name, "a"], 1)], hybrid()),
            Plan::of_file(name, 1, Options::default())
                .expect_err(name)
                .to_string(),
        ] {
            assert!(message.starts_with("The name of \""), "{message}");
            assert!(message.contains(&format!(" {expected}: rename it")), "{message}");
        }
    }
    for name in [
        ".hidden",
        "...",
        " a ",
        "a:b*?\"<>|",
        "\u{e9}",
        "\u{1f3ac}",
        &long(240),
    ] {
        assert_eq!(fault(vec![file(&["d", name], 1)], hybrid()), "none", "{name}");
    }
    let deep = |levels: usize| fault(vec![file(&vec!["d"; levels], 1)], hybrid());
    assert_eq!(deep(MAX_LEVELS), "none");
    assert!(deep(MAX_LEVELS + 1).contains("lies deeper than 64 folders"));
    let far = fault(vec![file(&[&*long(240); 18], 1)], Options::default());
    assert!(
        far.contains("is longer than 4096 bytes with the folders above it"),
        "{far}"
    );
    assert!(fault(vec![file(&[], 1)], Options::default()).contains("is empty"));
}

#[test]
fn paths_that_clients_take_for_one_are_refused() {
    for (one, other, clash) in [
        (&["d", "a"][..], &["d", "a"][..], true),
        (&["d", "A.txt"], &["d", "a.txt"], true),
        (&["D", "a"], &["d", "a"], true),
        (&["d"], &["D", "a"], true),
        (&["d", "a"], &["d"], true),
        (&["D", "a"], &["d", "b"], false),
        (&["\u{c9}"], &["\u{e9}"], false),
        (&["d a"], &["d", "a"], false),
        (&["d.a"], &["d"], false),
    ] {
        for options in [Options::default(), hybrid()] {
            // Something that sorts between them in one spelling or another.
            let files = vec![file(one, 1), file(&["d!", "a"], 1), file(other, 1)];
            let message = fault(files, options);
            let expected = format!("{one:?} {other:?}: {message}");
            assert_eq!(
                message.contains("are one name to torrent clients"),
                clash,
                "{expected}"
            );
            assert_eq!(message == "none", !clash, "{expected}");
        }
    }
    let own = || vec![file(&[".pad", "16384"], 1)];
    assert_eq!(fault(own(), Options::default()), "none");
    assert!(fault(own(), hybrid()).contains("padding of hybrid torrents"));
}

#[test]
fn what_no_client_can_use_is_refused_before_anything_is_read() {
    let with = |piece_size| Options {
        piece_size: Some(piece_size),
        ..hybrid()
    };
    for size in [0, 1, 8192, 16385, 24_576, 1 << 27, u64::MAX] {
        let message = fault(vec![file(&["a"], 1)], with(size));
        assert_eq!(
            message,
            format!("pieceSize: {size} is no power of two from 16384 (16 KiB) to 67108864 (64 MiB)")
        );
    }
    for size in [MIN_PIECE_BYTES, MAX_PIECE_BYTES] {
        assert_eq!(fault(vec![file(&["a"], 1)], with(size)), "none");
    }
    let empty = "There is nothing to share: all files are empty";
    assert_eq!(fault(vec![file(&["a"], 0), file(&["b"], 0)], hybrid()), empty);
    assert_eq!(fault(vec![], hybrid()), empty);
    let numbered = |count: usize, size: u64| (0..count).map(|n| file(&[&n.to_string()], size)).collect();
    assert!(fault(numbered(MAX_FILES + 1, 1), hybrid()).contains("more than 100000 files"));
    assert_eq!(fault(numbered(MAX_FILES, 1), Options::default()), "none");
    let huge = fault(vec![file(&["a"], u64::MAX), file(&["b"], 1)], hybrid());
    assert_eq!(huge, "The files are larger than 2^63 bytes in all");
    let huge = fault(vec![file(&["a"], i64::MAX as u64)], hybrid());
    assert_eq!(huge, "The files are larger than 2^63 bytes in all");
    let many = fault(vec![file(&["a"], 1 << 36)], with(MIN_PIECE_BYTES));
    assert!(
        many.contains("The .torrent file would have 218103808 bytes"),
        "{many}"
    );
    // Its pieces fit, with their trees they do not.
    let layered = fault(vec![file(&["a"], 500_000 << 14)], with(MIN_PIECE_BYTES));
    assert!(
        layered.contains("The .torrent file would have 26000"),
        "{layered}"
    );
    let padded = fault(numbered(2000, 1 << 10), with(MAX_PIECE_BYTES));
    assert!(
        padded.contains("bytes of padding for 2048000 bytes of content: choose smaller"),
        "{padded}"
    );
    assert_eq!(
        fault(
            numbered(2000, 1 << 10),
            Options {
                format: Format::V1,
                ..with(MAX_PIECE_BYTES)
            }
        ),
        "none"
    );
}

#[test]
fn options_are_checked_and_addresses_never_quoted() {
    let tracker = |address: &str| Options {
        trackers: vec![vec!["udp://one.example:80".into()], vec![address.into()]],
        ..Options::default()
    };
    let seed = |address: &str| Options {
        web_seeds: vec![address.into()],
        ..Options::default()
    };
    let text = |source: &str| Options {
        source: Some(source.into()),
        ..Options::default()
    };
    let comment = |comment: &str| Options {
        comment: Some(comment.into()),
        ..Options::default()
    };
    let schemes = "it must begin with one of http://, https://, udp://, ws://, wss://";
    let blank = "it has a blank or a character beyond ASCII in it: write it percent-encoded";
    for (options, expected) in [
        (
            tracker("HTTPS://user:word@one.example/key/announce?x=1"),
            "none".into(),
        ),
        (tracker("http://[::1]:80/announce"), "none".into()),
        (tracker("key"), format!("trackers[1][0]: {schemes}")),
        (tracker("file:///key"), format!("trackers[1][0]: {schemes}")),
        (
            tracker("http://:80/key"),
            "trackers[1][0]: it names no host".into(),
        ),
        (
            tracker("http://user:key@/x"),
            "trackers[1][0]: it names no host".into(),
        ),
        (
            tracker("http://one.example/\nkey"),
            format!("trackers[1][0]: {blank}"),
        ),
        (
            tracker(&format!("http://one.example/{}", "k".repeat(2048))),
            "trackers[1][0]: 2067 bytes, at most 2048 are possible".into(),
        ),
        (seed("ftp://one.example/pack"), "none".into()),
        (
            seed("udp://one.example/key"),
            "webSeeds[0]: it must begin with one of http://, https://, ftp://".into(),
        ),
        (text("TAG"), "none".into()),
        (text(""), "source: it is empty: leave it out instead".into()),
        (text("a\nb"), "source: it has a control character in it".into()),
        (
            text(&"a".repeat(256)),
            "source: 256 bytes, at most 255 are possible".into(),
        ),
        (comment("one\r\n\ttwo"), "none".into()),
        (
            comment("a\0b"),
            "comment: it has a control character in it".into(),
        ),
        (
            Options {
                created_at: Some(-1),
                ..Options::default()
            },
            "createdAt: it lies before 1970".into(),
        ),
        (
            Options {
                web_seeds: vec!["http://a.example".into(); MAX_ADDRESSES + 1],
                ..Options::default()
            },
            "webSeeds: 101 addresses, at most 100 are possible".into(),
        ),
        (
            Options {
                trackers: vec![vec!["http://a.example".into()]; MAX_ADDRESSES + 1],
                ..Options::default()
            },
            "trackers: 101 addresses, at most 100 are possible".into(),
        ),
    ] {
        let message = fault(vec![file(&["a"], 1)], options);
        assert_eq!(message, expected);
        assert!(!message.contains("key"));
    }
}

fn created(plan: Plan) -> Created {
    let mut hasher = Hasher::new(plan);
    let bytes = vec![b'x'; usize::try_from(hasher.plan().total_bytes()).expect("small")];
    hasher.push(&bytes).expect("bytes of the plan");
    hasher.finish().expect("a torrent")
}

fn options_of_all_kinds() -> Options {
    let trackers = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("http://{name}.example/a"))
            .collect()
    };
    Options {
        is_private: true,
        source: Some("TAG".into()),
        trackers: vec![trackers(&["one", "two"]), vec![], trackers(&["three"])],
        web_seeds: vec!["http://seed.example/files".into()],
        comment: Some("two\nlines".into()),
        created_by: Some("program/1".into()),
        created_at: Some(1_700_000_000),
        ..Options::default()
    }
}

#[test]
fn a_torrent_has_what_was_chosen_and_nothing_else() {
    let one = Plan::of_file("a", 1, options_of_all_kinds()).expect("a plan");
    let made = created(one);
    // The hash is that of `x`.
    let expected = [
        &b"d8:announce20:http://one.example/a13:announce-listll20:http://one.example/a20:http://two.example/a\
           el22:http://three.example/aee7:comment9:two\nlines10:created by9:program/113:creation datei1700000000e\
           4:infod6:lengthi1e4:name1:a12:piece lengthi16384e6:pieces20:"[..],
        &hex::decode("11f6ad8ec52a2984abaafd7c3b516503785c2072").expect("hex"),
        b"7:privatei1e6:source3:TAGe8:url-listl25:http://seed.example/filesee",
    ]
    .concat();
    assert_eq!(
        String::from_utf8_lossy(&made.file),
        String::from_utf8_lossy(&expected)
    );
    assert_eq!(made.file, expected);
    assert!(made.metainfo.is_private);

    let plain = created(Plan::of_file("a", 1, Options::default()).expect("a plan"));
    let keys: Vec<_> = bencode::parse(&plain.file)
        .expect("bencode")
        .dict()
        .expect("a dictionary")
        .map(|(key, _)| key.to_vec())
        .collect();
    assert_eq!(keys, [b"info".to_vec()]);
    assert!(!plain.metainfo.is_private);
    assert_ne!(plain.metainfo.hash, made.metainfo.hash);
}

#[test]
fn a_single_tracker_needs_no_list_and_a_folder_needs_a_slash() {
    let options = Options {
        trackers: vec![vec!["udp://one.example:80".into()]],
        web_seeds: vec!["http://a.example/x".into(), "http://b.example/".into()],
        ..hybrid()
    };
    let made = created(Plan::of_folder("pack", vec![file(&["a"], 1)], options).expect("a plan"));
    let root = bencode::parse(&made.file).expect("bencode");
    assert!(root.get("announce").is_some() && root.get("announce-list").is_none());
    let seeds = root.get("url-list").and_then(Node::list).expect("a list");
    let seeds: Vec<_> = seeds.filter_map(Node::text).collect();
    assert_eq!(seeds, ["http://a.example/x/", "http://b.example/"]);
}

#[test]
fn the_order_of_the_disk_changes_nothing() {
    let mut files = vec![
        file(&["b", "z"], 3),
        file(&["b c"], 20_000),
        file(&["a"], 0),
        file(&["b", "a"], 40_000),
        file(&["b!"], 1),
    ];
    let make = |files: Vec<PlannedFile>| created(Plan::of_folder("pack", files, hybrid()).expect("a plan"));
    let made = make(files.clone());
    for _ in 0..files.len() {
        files.rotate_left(1);
        assert_eq!(make(files.clone()).file, made.file);
    }
    let contents = Contents::read(&made.file).expect("contents");
    let order: Vec<_> = contents
        .files
        .iter()
        .map(|path| String::from_utf8_lossy(path))
        .collect();
    assert_eq!(order, ["a", "b/a", "b/z", "b c", "b!"]);
    assert_eq!((made.metainfo.size, made.metainfo.file_count), (60_004, 5));
}

#[test]
fn bytes_must_be_as_many_as_planned() {
    let hasher = || {
        Hasher::new(
            Plan::of_folder("pack", vec![file(&["a"], 5), file(&["b"], 0)], hybrid()).expect("a plan"),
        )
    };
    let length = |given| Err(CreateError::Length { expected: 5, given });
    let mut short = hasher();
    assert_eq!(short.push(b"four"), Ok(()));
    assert_eq!(short.finish().map(drop), length(4));
    let mut long = hasher();
    assert_eq!(long.push(b"fives"), Ok(()));
    assert_eq!(long.push(b"x"), length(6));
    assert_eq!(hasher().push(b"sixsix"), length(6));
}

#[test]
fn the_largest_torrents_are_read_again() {
    let deep = file(&["d"; MAX_LEVELS], 1);
    let made = created(Plan::of_folder("pack", vec![deep], hybrid()).expect("a plan"));
    let contents = Contents::read(&made.file).expect("contents");
    assert_eq!(contents.files, [["d"; MAX_LEVELS].join("/").into_bytes()]);

    let files = (0..MAX_FILES).map(|n| file(&[&format!("{n:05}")], 1)).collect();
    let made = created(Plan::of_folder("pack", files, Options::default()).expect("a plan"));
    assert_eq!(
        Metainfo::parse(&made.file).map(|read| read.file_count),
        Ok(MAX_FILES)
    );
}
