//! The tables of [`super::hostile`]: every text a request can put into the file manager, and what is put there.

/// The kind of text that a property of a request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A path below the root. In a body its bytes can be given as `<name>Raw` instead.
    Path,
    /// A path below the root by its percent-encoded bytes.
    Raw,
    /// An absolute path.
    Absolute,
    /// The name of something new.
    Name,
    /// No path, because it is something else.
    Other(&'static str),
}

/// One text of one route.
pub struct Field {
    pub route: &'static str,
    /// The name in the query, or in the body with a dot for every level.
    pub name: &'static str,
    pub holds: Holds,
    /// Bodies it is put into, without a mistake; none for a query.
    pub bodies: &'static [&'static str],
}

const fn query(route: &'static str, name: &'static str, holds: Holds) -> Field {
    let bodies = &[];
    Field {
        route,
        name,
        holds,
        bodies,
    }
}

const fn body(
    route: &'static str,
    name: &'static str,
    holds: Holds,
    bodies: &'static [&'static str],
) -> Field {
    Field {
        route,
        name,
        holds,
        bodies,
    }
}

const CHOICE: Holds = Holds::Other("one of a few words");
const ID: Holds = Holds::Other("an id that is looked up");

const TRANSFERS: &[&str] = &[
    r#"{"source":"/file","destination":"/folder"}"#,
    r#"{"source":"/folder","destination":"/spare","overwrite":true,"verify":true}"#,
];
const DELETES: &[&str] = &[r#"{"path":"/file"}"#, r#"{"path":"/file","permanent":true}"#];
const BULK_TRANSFERS: &[&str] = &[
    r#"{"operation":"move","paths":["/file"],"destination":"/folder"}"#,
    r#"{"operation":"copy","paths":["/file","/folder"],"destination":"/spare","overwrite":true}"#,
];
const BULKS: &[&str] = &[
    r#"{"operation":"move","paths":["/file"],"destination":"/spare","overwrite":true}"#,
    r#"{"operation":"copy","paths":["/file"],"destination":"/folder"}"#,
    r#"{"operation":"delete","paths":["/file"]}"#,
    r#"{"operation":"cleanup","paths":["/file"],"permanent":true}"#,
];
const CONFLICTS: &[&str] = &[
    r#"{"operation":"move","sources":["/file"],"destination":"/folder"}"#,
    r#"{"operation":"copy","sources":["/file"],"destination":"/spare"}"#,
];
const RESOLUTIONS: &[&str] = &[
    r#"{"operation":"move","destination":"/folder","items":[{"source":"/file","resolution":"keep_both"}]}"#,
    r#"{"operation":"copy","destination":"/folder","items":[{"source":"/file","resolution":"replace","targetPath":"/folder/file"}]}"#,
    r#"{"operation":"move","destination":"/folder","permanent":true,"items":[{"source":"/file","resolution":"delete_source"}]}"#,
];
const REPLACEMENT: &[&str] = &[
    r#"{"operation":"move","destination":"/folder","items":[{"source":"/file","resolution":"replace","targetPath":"/folder/file"}]}"#,
    r#"{"operation":"copy","destination":"/folder","permanent":true,"items":[{"source":"/file","resolution":"replace","targetPath":"/folder/file"}]}"#,
];
const CLEANUPS: &[&str] = &[
    r#"{"path":"/","paths":["/file"]}"#,
    r#"{"path":"/folder","paths":["/folder/file"],"permanent":true}"#,
];

/// Created torrents: the only route beside those of the file manager that takes paths as they do.
const CREATED: &str = "POST /api/torrents/created";

/// True for the texts of routes that take paths below the root.
pub fn is_attacked(text: &str) -> bool {
    text.contains(" /api/files") || text.starts_with(CREATED)
}

/// A row for every text of every route of the file manager, and of the one that creates torrents.
pub const FIELDS: &[Field] = &[
    body(
        CREATED,
        "path",
        Holds::Path,
        &[r#"{"path":"/file"}"#, r#"{"path":"/folder","format":"hybrid"}"#],
    ),
    body(CREATED, "name", Holds::Other("a label that names no file"), &[]),
    body(CREATED, "source", Holds::Other("a label in the torrent"), &[]),
    body(
        CREATED,
        "webSeeds",
        Holds::Other("addresses that are written and not opened"),
        &[],
    ),
    body(CREATED, "comment", Holds::Other("a text in the torrent"), &[]),
    body(CREATED, "seed.engineId", ID, &[]),
    body(
        CREATED,
        "seed.category",
        Holds::Other("a name that a client is told"),
        &[],
    ),
    body(
        CREATED,
        "seed.tags",
        Holds::Other("names that a client is told"),
        &[],
    ),
    query("GET /api/files", "path", Holds::Path),
    query("GET /api/files", "pathRaw", Holds::Raw),
    query("GET /api/files/properties", "path", Holds::Path),
    query("GET /api/files/properties", "pathRaw", Holds::Raw),
    query("GET /api/files/preview", "path", Holds::Path),
    query("GET /api/files/preview", "pathRaw", Holds::Raw),
    query("GET /api/files/preview", "encoding", CHOICE),
    query("GET /api/files/stream", "path", Holds::Path),
    query("GET /api/files/stream", "pathRaw", Holds::Raw),
    query(
        "GET /api/files/stream",
        "ticket",
        Holds::Other("signed: a path in it that is not the one asked for is refused"),
    ),
    query("GET /api/files/download", "path", Holds::Path),
    query("GET /api/files/download", "pathRaw", Holds::Raw),
    query("GET /api/files/inspect", "path", Holds::Absolute),
    body(
        "PUT /api/files/root",
        "path",
        Holds::Absolute,
        &[r#"{"path":"/nowhere"}"#],
    ),
    body(
        "POST /api/files/ensure-dir",
        "path",
        Holds::Absolute,
        &[r#"{"path":"/nowhere"}"#],
    ),
    body(
        "POST /api/files/media-ticket",
        "path",
        Holds::Path,
        &[r#"{"path":"/file"}"#],
    ),
    body(
        "POST /api/files/folders",
        "path",
        Holds::Path,
        &[r#"{"path":"/","name":"new"}"#],
    ),
    body(
        "POST /api/files/folders",
        "name",
        Holds::Name,
        &[r#"{"path":"/","name":"new"}"#],
    ),
    body(
        "POST /api/files/rename",
        "path",
        Holds::Path,
        &[
            r#"{"path":"/file","newName":"renamed"}"#,
            r#"{"path":"/file","newName":"other","overwrite":true}"#,
        ],
    ),
    body(
        "POST /api/files/rename",
        "newName",
        Holds::Name,
        &[
            r#"{"path":"/file","newName":"renamed"}"#,
            r#"{"path":"/file","newName":"renamed","overwrite":true}"#,
        ],
    ),
    body("POST /api/files/move", "source", Holds::Path, TRANSFERS),
    body("POST /api/files/move", "destination", Holds::Path, TRANSFERS),
    body("POST /api/files/copy", "source", Holds::Path, TRANSFERS),
    body("POST /api/files/copy", "destination", Holds::Path, TRANSFERS),
    body(
        "POST /api/files/delete/preview",
        "path",
        Holds::Path,
        &[r#"{"path":"/file"}"#],
    ),
    body(
        "POST /api/files/bulk/delete-preview",
        "paths",
        Holds::Path,
        &[r#"{"paths":["/file"]}"#],
    ),
    body("POST /api/files/delete", "path", Holds::Path, DELETES),
    body("POST /api/files/bulk", "paths", Holds::Path, BULKS),
    body("POST /api/files/bulk", "destination", Holds::Path, BULK_TRANSFERS),
    body(
        "POST /api/files/move-conflicts",
        "sources",
        Holds::Path,
        CONFLICTS,
    ),
    body(
        "POST /api/files/move-conflicts",
        "destination",
        Holds::Path,
        CONFLICTS,
    ),
    body(
        "POST /api/files/resolve-conflicts",
        "destination",
        Holds::Path,
        RESOLUTIONS,
    ),
    body(
        "POST /api/files/resolve-conflicts",
        "items.source",
        Holds::Path,
        RESOLUTIONS,
    ),
    body(
        "POST /api/files/resolve-conflicts",
        "items.targetPath",
        Holds::Path,
        REPLACEMENT,
    ),
    body(
        "POST /api/files/resolve-conflicts",
        "items.resolution",
        CHOICE,
        RESOLUTIONS,
    ),
    body(
        "POST /api/files/cleanup-preview",
        "path",
        Holds::Path,
        &[r#"{"path":"/"}"#],
    ),
    body("POST /api/files/cleanup-execute", "path", Holds::Path, CLEANUPS),
    body("POST /api/files/cleanup-execute", "paths", Holds::Path, CLEANUPS),
    body("POST /api/files/trash/restore", "id", ID, &[]),
    body("POST /api/files/trash/purge", "id", ID, &[]),
];

/// Places that other routes take, and that [`super::places`] attacks: a path handed to a torrent client, a directory below the roots
/// that its area reads through a guard of its own, or a place that is only compared with those of a library.
pub const ELSEWHERE: &[&str] = &[
    "PATCH /api/categories/{id} savePath",
    "PATCH /api/engines/{id} pathMappings.local",
    "PATCH /api/media/libraries/{id} path",
    "PATCH /api/media/providers/titledb/settings datasetPath",
    "PATCH /api/rss/rules/{id} savePath",
    "POST /api/categories savePath",
    "POST /api/engines pathMappings.local",
    "POST /api/engines/{id}/paths/check pathMappings.local",
    "POST /api/media/apply libraryPath",
    "POST /api/media/apply path",
    "POST /api/media/ignored path",
    "POST /api/media/libraries path",
    "POST /api/media/preview path",
    "POST /api/media/providers/titledb/dataset/import datasetPath",
    "POST /api/media/providers/titledb/dataset/validate datasetPath",
    "POST /api/rss/history/{id}/download savePath",
    "POST /api/rss/rules savePath",
    "POST /api/rss/rules/preview savePath",
    "POST /api/torrents savePath",
    "POST /api/torrents/upload savePath",
    "POST /api/torrents/{hash}/download-path path",
    "POST /api/torrents/{hash}/move destination",
];

/// Texts of other routes that sound like a path and are no place on this disk: words that jobs are filtered by, directories as a
/// client sees them, names in a torrent, and the texts by which a preview reads names (a library that is nowhere too).
pub const NO_PLACES: &[&str] = &[
    "GET /api/jobs/list resourceId",
    "GET /api/jobs/list source",
    "PATCH /api/engines/{id} pathMappings.remote",
    "POST /api/engines pathMappings.remote",
    "POST /api/engines/{id}/paths/check pathMappings.remote",
    "POST /api/media/apply sourceName",
    "POST /api/media/apply sourceTorrentHash",
    "POST /api/media/preview libraryPath",
    "POST /api/media/preview sourceName",
    "POST /api/media/preview sourceTorrentHash",
    "POST /api/torrents/{hash}/folders/rename newPath",
    "POST /api/torrents/{hash}/folders/rename path",
];

/// The required fate of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Must {
    /// It leads out, or to a place where no path can lead: nobody may act on it.
    Refuse,
    /// It stays inside; acting on it is allowed, and not required.
    Contain,
}

use Must::{Contain, Refuse};

/// Paths as text. `{canary}` and `{root}` are absolute; `{canary:rel}` is the way from the root to the canary.
pub const PATHS: &[(&str, Must)] = &[
    // Ways up, plain and in disguise.
    ("..", Refuse),
    ("../", Refuse),
    ("/..", Refuse),
    ("./..", Refuse),
    ("folder/../..", Refuse),
    ("../root/file", Refuse),
    ("../root-canary/secret", Refuse),
    ("/../root-canary", Refuse),
    ("folder/../../root-canary/folder", Refuse),
    ("missing/../../root-canary/secret", Refuse),
    ("./folder//..//../root-canary/secret", Refuse),
    ("../../../../../../../../etc/passwd", Refuse),
    ("../root-canary/new", Refuse),
    ("..\\..\\root-canary\\secret", Contain),
    ("folder/..\\..\\..\\root-canary/secret", Contain),
    ("..\\../root-canary", Contain),
    ("%2e%2e/root-canary/secret", Contain),
    ("..%2froot-canary%2fsecret", Contain),
    ("%252e%252e%252froot-canary", Contain),
    ("..%c0%afroot-canary", Contain),
    ("\u{c0}\u{ae}\u{c0}\u{ae}/root-canary", Contain),
    ("\u{2025}/root-canary", Contain),
    ("\u{ff0e}\u{ff0e}/root-canary", Contain),
    ("\u{2024}\u{2024}\u{2215}root-canary", Contain),
    (".. /root-canary/secret", Contain),
    ("../ ", Refuse),
    ("..././root-canary", Contain),
    ("....//root-canary", Contain),
    ("..;/root-canary/secret", Contain),
    // Absolute, which is relative to the root here.
    ("/etc/passwd", Contain),
    ("//etc/passwd", Contain),
    ("{canary}/secret", Contain),
    ("{root}/file", Contain),
    ("file:///etc/passwd", Contain),
    ("C:\\Windows\\win.ini", Contain),
    ("\\\\server\\share", Contain),
    ("~root/.profile", Contain),
    ("$HOME", Contain),
    ("`id`", Contain),
    // NUL and other control characters.
    ("\0", Refuse),
    ("file\0", Refuse),
    ("file\0.txt", Refuse),
    ("..\0/root-canary/secret", Refuse),
    ("folder/\0/../../../root-canary", Refuse),
    ("file\r\nX-Evil: 1", Contain),
    ("file\u{7f}\u{1b}[2J", Contain),
    ("\u{202e}elif", Contain),
    // Dots, spaces, slashes, case.
    ("", Contain),
    ("/", Contain),
    (".", Contain),
    ("...", Contain),
    ("file.", Contain),
    ("file ", Contain),
    (" file", Contain),
    ("file...   ", Contain),
    ("folder./file", Contain),
    ("folder /file", Contain),
    ("file/", Contain),
    ("file/.", Contain),
    ("file/below", Contain),
    ("folder/../file", Contain),
    ("FILE", Contain),
    ("Twin", Contain),
    ("twin", Contain),
    // Our own.
    (".quartermaster-trash", Contain),
    (".Quartermaster-Trash/x__y", Contain),
    ("folder/.quartermaster-trash/x", Contain),
    (".quartermaster-tmp-0000", Contain),
    // Links out: as the last component the link itself may be changed, never followed.
    ("to-secret", Contain),
    ("to-canary", Contain),
    ("to-canary/", Contain),
    ("to-canary/secret", Refuse),
    ("to-canary/folder/deep", Refuse),
    ("to-canary/new/newer", Refuse),
    ("to-canary-relative", Contain),
    ("to-canary-relative/secret", Refuse),
    ("folder/climbing/secret", Refuse),
    ("chain/secret", Refuse),
    ("to-slash", Contain),
    ("to-slash/etc/passwd", Refuse),
    ("to-proc", Contain),
    ("to-proc/etc/passwd", Refuse),
    ("to-proc{canary}/secret", Refuse),
    ("to-cwd/Cargo.toml", Refuse),
    ("to-fd/3", Refuse),
    ("dangling", Contain),
    ("dangling/x", Contain),
    ("loop-a", Contain),
    ("loop-a/x", Refuse),
    // Links inside.
    ("to-file", Contain),
    ("to-folder", Contain),
    ("to-folder/file", Contain),
    ("to-root", Contain),
    ("to-root/file", Contain),
    ("to-root/to-root/to-canary/secret", Refuse),
    ("to-trash", Contain),
    // What hangs or has no end when it is opened, and what is also somewhere else.
    ("fifo", Contain),
    ("fifo/below", Refuse),
    ("to-fifo", Contain),
    ("socket", Contain),
    ("device", Contain),
    ("traps", Contain),
    ("hard", Contain),
    // Long.
    ("{255}", Contain),
    ("{255}/{255}", Contain),
    ("{256}", Contain),
    ("folder/{256}/x", Contain),
    ("{deep}", Contain),
    ("{70000}", Refuse),
];

/// Paths by their percent-encoded bytes, as a `…Raw` property has them.
pub const RAW_PATHS: &[(&str, Must)] = &[
    ("%2e%2e", Refuse),
    ("%2E%2E/root-canary/secret", Refuse),
    ("..%2froot-canary%2fsecret", Refuse),
    ("%2f..%2f..%2fetc%2fpasswd", Refuse),
    ("folder%2f%2e%2e%2f%2e%2e%2froot-canary", Refuse),
    ("to-canary%2fsecret", Refuse),
    ("%2Fto%2Dproc%2Fetc%2Fpasswd", Refuse),
    ("%252e%252e%252froot-canary%252fsecret", Contain),
    ("%c0%ae%c0%ae/root-canary/secret", Contain),
    ("%c0%ae%c0%ae%c0%afroot-canary%c0%afsecret", Contain),
    ("%e0%80%ae%e0%80%ae%e0%80%afroot-canary", Contain),
    ("%f0%80%80%ae%f0%80%80%ae/root-canary", Contain),
    ("%2e%2e%5croot-canary", Contain),
    ("%00", Refuse),
    ("file%00", Refuse),
    ("..%00/root-canary", Refuse),
    ("%", Refuse),
    ("file%2", Refuse),
    ("file%zz", Refuse),
    ("%u002e%u002e/root-canary", Refuse),
    ("%FFname", Contain),
    ("%FF%FE%FD", Contain),
    ("file", Contain),
];

/// Values of a query's `path` as they stand in the address.
pub const QUERIES: &[(&str, Must)] = &[
    ("../root-canary/secret", Refuse),
    ("%2e%2e/root-canary/secret", Refuse),
    ("%2e%2e%2froot-canary%2fsecret", Refuse),
    ("..%2Froot-canary%2Fsecret", Refuse),
    ("%2fto-canary%2fsecret", Refuse),
    ("%252e%252e%252froot-canary%252fsecret", Refuse),
    ("..%255c..%255croot-canary", Refuse),
    ("%2e%2e%5croot-canary%5csecret", Refuse),
    ("%c0%ae%c0%ae/root-canary/secret", Refuse),
    ("%c0%ae%c0%ae%c0%afroot-canary%c0%afsecret", Refuse),
    ("%e0%80%ae%e0%80%ae%e0%80%afroot-canary%e0%80%afsecret", Refuse),
    ("%f0%80%80%ae%f0%80%80%ae/root-canary/secret", Refuse),
    ("%f8%80%80%80%ae/root-canary/secret", Refuse),
    ("%ff%fe/secret", Refuse),
    ("%u002e%u002e/root-canary/secret", Refuse),
    ("file%00", Refuse),
    ("file%00.png", Refuse),
    ("%00/../root-canary/secret", Refuse),
    ("..+/root-canary", Refuse),
    ("file%0d%0aX-Evil:%201", Refuse),
    ("file&path=../root-canary/secret", Refuse),
    ("file&pathRaw=%2e%2e%2froot-canary%2fsecret", Refuse),
    ("file&pathRaw=%252e%252e%252froot-canary%252fsecret", Refuse),
];

/// Absolute paths. Those outside may be looked at by nobody.
pub const ABSOLUTE: &[(&str, Must)] = &[
    ("{canary}", Refuse),
    ("{canary}/secret", Refuse),
    ("{canary}/new/newer", Refuse),
    ("{root}-canary", Refuse),
    ("{root}-canary/folder", Refuse),
    ("{root}/../root-canary", Refuse),
    ("{root}/../root-canary/new", Refuse),
    ("{root}/./folder/../../root-canary", Refuse),
    ("/{root}//..//root-canary", Refuse),
    ("{root}/to-canary", Refuse),
    ("{root}/to-canary/folder", Refuse),
    ("{root}/to-canary/new/newer", Refuse),
    ("{root}/to-root/to-canary/new", Refuse),
    ("{root}/chain/new", Refuse),
    ("{root}/to-proc", Refuse),
    ("{root}/to-proc{canary}/new", Refuse),
    ("{root}/to-slash/etc", Refuse),
    ("{root}/loop-a", Refuse),
    ("/", Refuse),
    ("//", Refuse),
    ("/etc", Refuse),
    ("/etc/passwd", Refuse),
    ("/proc/self/root{canary}", Refuse),
    ("/proc/self/root{root}/folder", Refuse),
    ("/dev/shm", Refuse),
    ("/root", Refuse),
    ("", Refuse),
    (" ", Refuse),
    ("..", Refuse),
    ("folder", Refuse),
    ("~", Refuse),
    ("\0", Refuse),
    ("{root}\0", Refuse),
    ("{root}/\0/../../root-canary", Refuse),
    ("{root}/.quartermaster-trash", Refuse),
    ("{root}/folder/.quartermaster-trash/new", Refuse),
    ("{root}/to-trash", Refuse),
    ("{root}/fifo", Contain),
    ("{root}/fifo/below", Refuse),
    ("{root}/file", Contain),
    ("{root}/file/below", Refuse),
    ("{root}/{256}", Refuse),
    ("{root}/%2e%2e/root-canary", Contain),
    ("{root}/..%2froot-canary", Contain),
    ("{root}/..\\root-canary", Contain),
    ("{root}/.. /root-canary", Contain),
    ("{root}/to-folder", Contain),
    ("{root}/new.", Contain),
    ("{root}", Contain),
];

/// Names of new things. Those that are no names are refused.
pub const NAMES: &[(&str, Must)] = &[
    ("", Refuse),
    (".", Refuse),
    ("..", Refuse),
    ("/", Refuse),
    ("a/b", Refuse),
    ("/etc", Refuse),
    ("../root-canary/new", Refuse),
    ("{canary}/new", Refuse),
    ("to-canary/new", Refuse),
    ("a\\b", Refuse),
    ("..\\new", Refuse),
    ("new\0", Refuse),
    ("\0", Refuse),
    ("{256}", Refuse),
    (".quartermaster-trash", Refuse),
    (".QUARTERMASTER-trash", Refuse),
    (".quartermaster-tmp-1", Refuse),
    ("{255 wide}", Refuse),
    ("{255}", Contain),
    ("%2e%2e", Contain),
    ("..%2froot-canary", Contain),
    ("...", Contain),
    ("new. ", Contain),
    (" ", Contain),
    ("file", Contain),
    ("FILE", Contain),
    ("to-canary", Contain),
    ("to-secret", Contain),
    ("dangling", Contain),
    ("fifo", Contain),
    ("hard", Contain),
    ("-rf", Contain),
    ("new\r\nX-Evil: 1", Contain),
    ("\u{202e}new", Contain),
    ("CON", Contain),
    ("new:stream", Contain),
];
