use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::model::plan::Strategy;

fn plan(strategy: Strategy) -> Plan {
    Plan {
        strategy,
        min_year: 1970,
        tv: false,
        akas: true,
        crew: false,
        people: false,
        regions: Vec::new(),
        languages: Vec::new(),
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn source() -> &'static Source {
    Table::Titles.source()
}

const HEADER: &str =
    "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres\n";

fn read(bytes: &[u8], plan: &Plan, skipped: u64) -> (Result<(), FileFault>, Stats, u64) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(source().file), bytes).unwrap();
    let (mut stats, mut lines) = (Stats::default(), 0);
    let opened = open(
        folder.path(),
        source(),
        Arc::default(),
        Reach::WHOLE,
        &Cancel::default(),
    );
    let result = opened.and_then(|opened| {
        opened.read(plan, &mut IdSet::default(), skipped, |piece| {
            stats.add(&piece.stats);
            lines = piece.lines;
            true
        })
    });
    (result, stats, lines)
}

#[test]
fn rows_are_filtered_and_bad_ones_are_counted() {
    let text = format!(
        "{HEADER}tt1\tmovie\tA\tA\t0\t1999\t\\N\t90\tDrama\n\
         tt2\tmovie\tB\tB\t1\t1999\t\\N\t90\tDrama\n\
         tt3\tshort\tC\tC\t0\t1999\t\\N\t9\tDrama\n\
         tt4\tmovie\tD\tD\t0\t1950\t\\N\t9\tDrama\n\
         nonsense\tmovie\tE\tE\t0\t1999\t\\N\t9\tDrama\n\
         tt6\tmovie\n\
         tt7\tmovie\t\\N\tF\t0\t1999\t\\N\t9\tDrama\r\n\
         tt8\ttvMovie\tG\tG\t0\t1999\t\\N\t\\N\t\\N\n\
         tt9\tmov"
    );
    let (result, stats, lines) = read(&gzip(text.as_bytes()), &plan(Strategy::OptimizedMovies), 0);
    result.unwrap();
    assert_eq!((stats.rows_scanned, stats.rows_imported, lines), (9, 2, 10));
    assert_eq!(
        (
            stats.skipped_adult,
            stats.skipped_title_type,
            stats.skipped_min_year,
            stats.errors
        ),
        (1, 1, 1, 4)
    );
    assert_eq!(
        stats.examples[0],
        "title.basics.tsv.gz, line 6: tconst is `nonsense`"
    );
    assert!(
        stats.examples[3].ends_with("it has 2 fields of 9"),
        "{:?}",
        stats.examples
    );
    let (result, stats, _) = read(&gzip(text.as_bytes()), &plan(Strategy::Full), 5);
    result.unwrap();
    assert_eq!(
        (stats.rows_scanned, stats.rows_imported),
        (5, 1),
        "it goes on behind line 5"
    );
}

#[test]
fn columns_are_found_by_their_names() {
    let text = "genres\tx\tendYear\tstartYear\tisAdult\toriginalTitle\tprimaryTitle\ttitleType\truntimeMinutes\ttconst\n\
        Drama\tnew\t\\N\t1999\t0\tA\tA\tmovie\t90\ttt1\n";
    let (result, stats, _) = read(&gzip(text.as_bytes()), &plan(Strategy::OptimizedMovies), 0);
    result.unwrap();
    assert_eq!(stats.rows_imported, 1);
    let (result, ..) = read(&gzip(b"tconst\tprimaryTitle\ntt1\tA\n"), &plan(Strategy::Full), 0);
    let text = result.unwrap_err().to_string();
    assert!(
        text.starts_with("title.basics.tsv.gz has no column titleType, originalTitle"),
        "{text}"
    );
}

#[test]
fn what_is_no_whole_gzip_file_is_told() {
    let (result, ..) = read(b"<!DOCTYPE html>\n<p>Forbidden", &plan(Strategy::Full), 0);
    assert_eq!(
        result.unwrap_err().to_string(),
        "title.basics.tsv.gz is no gzip file, as those of IMDb are; download it again"
    );
    let (result, ..) = read(b"", &plan(Strategy::Full), 0);
    assert!(matches!(result, Err(FileFault::NotGzip { .. })));
    let row = "tt1\tmovie\tA\tA\t0\t1999\t\\N\t90\tDrama\n";
    let many: String = (0..30_000)
        .map(|number| row.replace("tt1", &format!("tt{number}")))
        .collect();
    let whole = gzip(format!("{HEADER}{many}").as_bytes());
    let (result, stats, _) = read(&whole[..whole.len() / 2], &plan(Strategy::Full), 0);
    assert!(matches!(result, Err(FileFault::Damaged { .. })), "{result:?}");
    assert!(
        stats.rows_imported >= BATCH_ROWS as u64,
        "what came before is there"
    );
    let mut twice = gzip(HEADER.as_bytes());
    twice.extend(gzip(row.as_bytes()));
    assert_eq!(
        read(&twice, &plan(Strategy::Full), 0).1.rows_imported,
        1,
        "two members"
    );
    let long = format!(
        "{HEADER}tt1\tmovie\t{}\tA\t0\t1999\t\\N\t90\tDrama\n{row}",
        "x".repeat(MAX_LINE)
    );
    let (result, stats, _) = read(&gzip(long.as_bytes()), &plan(Strategy::Full), 0);
    result.unwrap();
    assert_eq!((stats.errors, stats.rows_imported), (1, 1));
}

/// Gzip data with one line of `length` bytes after `before`.
fn endless(before: &str, length: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(before.as_bytes()).unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..length >> 20 {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

/// Opens a file; returns the result and the number of bytes read.
fn opened(bytes: &[u8], reach: Reach, cancel: &Cancel) -> (Result<Opened, FileFault>, u64) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(source().file), bytes).unwrap();
    let read = Arc::new(AtomicU64::new(0));
    let opened = open(folder.path(), source(), read.clone(), reach, cancel);
    (opened, read.load(Ordering::Relaxed))
}

#[test]
fn a_header_without_an_end_is_refused_and_not_read_on() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(&vec![b'x'; 16 << 20]).unwrap();
    let bytes = encoder.finish().unwrap();
    for reach in [Reach::HEADER, Reach::WHOLE] {
        let (opened, read) = opened(&bytes, reach, &Cancel::default());
        assert!(matches!(opened, Err(FileFault::LongHeader { .. })));
        assert!(
            read <= (MAX_LINE + 3 * BUFFER) as u64,
            "{read} of {}",
            bytes.len()
        );
    }
}

#[test]
fn a_file_is_expanded_as_far_as_its_reach_goes() {
    let reach = Reach {
        packed: u64::MAX,
        expanded: 8 << 20,
    };
    let (opened, _) = opened(&endless(HEADER, 64 << 20), reach, &Cancel::default());
    let result = opened
        .unwrap()
        .read(&plan(Strategy::Full), &mut IdSet::default(), 0, |_| true);
    assert!(matches!(result, Err(FileFault::TooLarge { .. })), "{result:?}");
}

#[test]
fn a_file_that_expands_to_nothing_is_read_as_far_as_its_reach_goes() {
    let empty = gzip(b"");
    let many = empty.repeat((4 << 20) / empty.len());
    let (opened, read) = opened(&many, Reach::HEADER, &Cancel::default());
    assert!(matches!(opened, Err(FileFault::TooLarge { .. })));
    assert!(read <= Reach::HEADER.packed + BUFFER as u64, "{read}");
}

#[test]
fn a_stop_ends_the_reading_inside_of_a_line_and_of_what_is_passed_over() {
    for (bytes, skipped) in [
        (endless(HEADER, 64 << 20), 0),
        (
            gzip(format!("{HEADER}{}", "x\n".repeat(4 << 20)).as_bytes()),
            u64::MAX,
        ),
    ] {
        let cancel = Cancel::default();
        let (opened, _) = opened(&bytes, Reach::WHOLE, &cancel);
        let opened = opened.unwrap();
        cancel.set();
        let result = opened.read(&plan(Strategy::Full), &mut IdSet::default(), skipped, |_| true);
        assert!(matches!(result, Err(FileFault::Stopped)), "{result:?}");
    }
    let cancel = Cancel::default();
    cancel.set();
    let (opened, read) = opened(&endless("tconst", 1 << 20), Reach::HEADER, &cancel);
    assert!(matches!(opened, Err(FileFault::Stopped)));
    assert_eq!(read, 0);
}

#[test]
fn a_file_that_is_none_is_told_without_a_word_of_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "root:x:0:0").unwrap();
    let place = folder.path().join(source().file);
    let told = || {
        let examined = examine(folder.path(), &Cancel::default());
        (
            examined[0].header_ok,
            examined[0].error.clone().unwrap_or_default(),
        )
    };
    std::os::unix::fs::symlink(&secret, &place).unwrap();
    let irregular =
        "title.basics.tsv.gz is no regular file: put the file itself there, for links are not followed";
    assert_eq!(told(), (false, irregular.to_owned()));
    std::fs::remove_file(&place).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &place,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert_eq!(told(), (false, irregular.to_owned()));
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(&secret, &place).unwrap();
    let (is_right, text) = told();
    assert!(
        !is_right && !text.contains("root") && text.contains("no gzip file"),
        "{text}"
    );
    std::fs::write(&place, gzip(b"root\tx\t0\n")).unwrap();
    let (is_right, text) = told();
    assert!(!is_right && !text.contains("root"), "{text}");
}
