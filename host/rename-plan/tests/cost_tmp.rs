use std::time::Instant;
use qm_rename_plan::*;
fn run(what: &str, names: Vec<String>, shows: usize, source: Option<&str>, mode: Mode) {
    let p = Preset::Plex;
    let mut wish = Wish::new(p, &p.templates()).unwrap();
    wish.mode = mode;
    wish.source_name = source.map(str::to_owned);
    wish.library = "/m".into();
    wish.shows = (0..shows).map(|n| KnownShow { title: format!("Show Number {n}"), year: None, folder: format!("Show Number {n}") }).collect();
    let sources: Vec<Source> = names.into_iter().map(|n| Source { path: format!("/d/{n}"), name: n, size: Some(1 << 30) }).collect();
    let t = Instant::now();
    let made = plan(&wish, &sources);
    println!("{what}: {} items, {} warnings, {:?}", made.items.len(), made.warnings.len(), t.elapsed());
}
#[test]
fn cost() {
    let n = 20_000;
    run("one folder of episodes", (0..n).map(|i| format!("Some.Show.S01/Some.Show.S{:02}E{:02}.The.Title.1080p.BluRay.x265-GRP.mkv", i / 100, i % 100)).collect(), 0, None, Mode::Preview);
    run("the same, source name, 3000 shows", (0..n).map(|i| format!("Some.Show.S01/Some.Show.S{:02}E{:02}.The.Title.1080p.BluRay.x265-GRP.mkv", i / 100, i % 100)).collect(), 3000, Some("Some.Show.S01.1080p.BluRay.x265-GRP"), Mode::Preview);
    run("films in folders", (0..n).map(|i| format!("Films/Film Number {i} (2010)/Film.Number.{i}.2010.1080p.BluRay.x265-GRP.mkv")).collect(), 0, None, Mode::Preview);
    run("all of one name", (0..n).map(|i| format!("d{i}/Film.2010.1080p.mkv")).collect(), 0, None, Mode::Preview);
    run("films and trailers in one folder", (0..n / 2).flat_map(|i| [format!("f/Film {i} (2010).mkv"), format!("f/Film {i} (2010)-trailer.mkv")]).collect(), 0, None, Mode::Preview);
    run("films and odd subtitles", (0..n / 2).flat_map(|i| [format!("f/Film {i} (2010).mkv"), format!("f/Subs/a{i}.srt")]).collect(), 0, None, Mode::Preview);
    run("1999 films and odd subtitles", (0..1999).map(|i| format!("f/Film {i} (2010).mkv")).chain((0..18000).map(|i| format!("f/Film aaaaaaaaaaaaaaaaaaa{i}x.srt"))).collect(), 0, None, Mode::Preview);
    run("1999 episodes and subtitles of none", (0..1999).map(|i| format!("f/Show S01E{i}.mkv")).chain((0..18000).map(|i| format!("f/Show S02E{}.{i}.srt", i%999))).collect(), 0, None, Mode::Preview);
    run("long names", (0..n).map(|i| format!("{}/{i} {}.mkv", "word ".repeat(40), "a b c ".repeat(40))).collect(), 0, None, Mode::Preview);
}
