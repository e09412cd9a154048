//! Films and episodes that people own, as other areas ask for them.

use qm_db::{Db, db_test, sql};
use qm_media::model::item::{Edit, Filter};
use qm_media::model::library::Kind;
use qm_ports::library::{Library as _, LibraryUnread, MOST_ASKED, Owned, Part, Wanted, Work};

use crate::testing::House;

sql! {
    SAY_SERIES = "UPDATE media_items SET series_titledb_id = $1 WHERE season = 2";
    SAY_EXTERNAL = "INSERT INTO media_external_ids (id, item_id, provider, external_id, is_derived) \
        SELECT 'x', id, 'provider_a', '603', FALSE FROM media_items WHERE year = 1999";
}

fn titled(title: &str, year: Option<i64>, part: Part) -> Wanted {
    let title = title.to_owned();
    Wanted {
        work: Work::Title { title, year },
        part,
    }
}

fn name(owned: &Owned) -> &str {
    owned.path.rsplit('/').next().unwrap_or_default()
}

/// The names of the files that are owned of each.
fn names(answers: &[Vec<Owned>]) -> Vec<Vec<&str>> {
    answers
        .iter()
        .map(|owned| owned.iter().map(name).collect())
        .collect()
}

db_test! {
    async fn what_is_owned_is_found_by_title_series_and_release(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for file in [
            "tv/The Wire (2002)/Season 1/The.Wire.S01E01-E02.1080p.WEB-DL.x264-GRP.mkv",
            "tv/The Wire (2002)/Season 2/The.Wire.S02E01.720p.mkv", "tv/The Wire (2002)/Season 2/The.Wire.S02E02.mkv",
            "films/Tide (2003)/Tide.2003.2160p.mkv", "films/Tide (1999)/Tide.1999.mkv",
        ] {
            house.file(file, 7);
        }
        for (folder, kind) in [("tv", Kind::Tv), ("films", Kind::Movie)] {
            let (library, first) = house.library(folder, kind).await;
            house.ended(&first).await;
            house.scans(&library).await;
        }
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, SAY_SERIES, "tt1").await.unwrap();
        let _ = qm_db::exec!(&mut tx, SAY_EXTERNAL).await.unwrap();
        tx.commit().await.unwrap();
        let (first, second, third) =
            ("The.Wire.S01E01-E02.1080p.WEB-DL.x264-GRP.mkv", "The.Wire.S02E01.720p.mkv", "The.Wire.S02E02.mkv");
        let episode = |season, episode| Part::Episode { season, episode };
        let external = |provider: &str, id: &str| {
            let work = Work::External { provider: provider.to_owned(), id: id.to_owned() };
            Wanted { work, part: Part::Whole }
        };
        let series = |id: &str, part| Wanted { work: Work::Series(id.to_owned()), part };
        let asked = [
            titled("the wire", None, Part::Whole),
            titled("The Wire", Some(2003), episode(1, 2)),
            titled("The Wire", Some(2009), episode(1, 2)),
            titled("The Wire", None, episode(1, 3)),
            titled("The Wire", None, Part::Season(2)),
            titled("The Wire", None, Part::Absolute(1)),
            titled("Tide", Some(2003), Part::Film),
            titled("Tide", Some(2004), Part::Film),
            titled("Tide", None, Part::Film),
            series("tt1", Part::Whole),
            series("tt1", episode(2, 2)),
            series("tt2", Part::Whole),
            titled("no\0thing", None, Part::Whole),
            external("provider_a", "603"), external("provider_b", "603"),
        ];
        let answers = house.app.catalogue.owned(&asked).await.unwrap();
        assert_eq!(names(&answers), [
            vec![first, second, third], vec![first], vec![], vec![], vec![second, third], vec![first],
            vec!["Tide.2003.2160p.mkv"], vec![], vec!["Tide.1999.mkv", "Tide.2003.2160p.mkv"], vec![second, third],
            vec![third], vec![], vec![], vec!["Tide.1999.mkv"], vec![],
        ]);
        let best = &answers[0][0];
        assert_eq!(
            (best.quality.as_deref(), best.resolution.as_deref(), best.release_group.as_deref(), best.size, best.is_known),
            (Some("WEB-DL 1080p"), Some("1080p"), Some("GRP"), 7, true),
        );
        let releases = [
            "The.Wire.S01E02.2160p.WEB-DL.x265-OTHER", "The.Wire.S04E01.720p", "Tide.2003.1080p.BluRay.x264-X",
            "Tide.2005.1080p.BluRay.x264-X", "The.Wire.2002.03.04.720p", "notes",
        ].map(str::to_owned);
        let answers = house.app.catalogue.owned_releases(&releases).await.unwrap();
        let sizes: Vec<Option<usize>> = answers.iter().map(|owned| owned.as_ref().map(Vec::len)).collect();
        assert_eq!(sizes, [Some(1), Some(0), Some(1), Some(0), None, None]);
        assert_eq!(answers[0].as_ref().unwrap()[0].resolution.as_deref(), Some("1080p"), "worse than the release");
        // Listed by another name it is still called the same.
        let filter = Filter { search: Some("tide".to_owned()), ..Filter::default() };
        let page = qm_kernel::PageQuery { page: 1, page_size: 9 };
        let (items, _) = house.app.catalogue.items(&filter, page).await.unwrap();
        for (item, ..) in items {
            let edit = Edit { sort_title: Some(Some("Zz".to_owned())), ..Edit::default() };
            house.app.identify.edit_item(house.caller(), &item.id, edit).await.unwrap();
        }
        let asked = [titled("Tide", Some(1999), Part::Film), titled("Zz", None, Part::Whole)];
        assert_eq!(names(&house.app.catalogue.owned(&asked).await.unwrap()), [vec!["Tide.1999.mkv"], vec![]]);
        let many = vec![titled("x", None, Part::Whole); MOST_ASKED + 1];
        assert_eq!(house.app.catalogue.owned(&many).await, Err(LibraryUnread::TooMany(MOST_ASKED + 1)));
        house.stops().await;
    }
}
