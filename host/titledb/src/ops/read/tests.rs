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
    let opened = open(folder.path(), source(), Arc::default());
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
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("begins with `<!DOCTYPE html> <p>F`")
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
