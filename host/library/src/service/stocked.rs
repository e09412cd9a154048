//! Items as the area of duplicates reads them, and the groups that it stores with them.

use qm_db::{Db, db_test};
use qm_media::model::item::{Filter, Issue};
use qm_media::model::library::Kind;
use qm_ports::inventory::{MediaStock as _, StockItem};

use crate::testing::House;

fn names(items: &[StockItem]) -> Vec<&str> {
    let name = |item: &StockItem| item.path().rsplit('/').next().unwrap_or_default().len();
    let mut names: Vec<&str> = items
        .iter()
        .map(|item| &item.path()[item.path().len() - name(item)..])
        .collect();
    names.sort_unstable();
    names
}

db_test! {
    async fn items_are_read_in_pages_with_all_their_files(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for (file, size) in [
            ("films/Tide (2003)/Tide (2003) - 1080p.mkv", 7), ("films/Tide (2003)/Tide (2003) - 720p.mkv", 5),
            ("films/Heat (1995)/Heat (1995) [dup2].mkv", 9), ("films/Ran (1985)/Ran (1985).mkv", 4),
        ] {
            house.file(file, size);
        }
        let (library, first) = house.library("films", Kind::Movie).await;
        house.ended(&first).await;
        let stock = &house.app.catalogue;
        let all = stock.list_behind("", 100).await.unwrap();
        assert_eq!(all.len(), 3);
        let tide = all.iter().find(|item| item.path().contains("Tide")).unwrap();
        assert_eq!((tide.files.len(), tide.size(), tide.year), (2, 12, Some(2003)));
        assert_eq!((&tide.library_id, tide.is_locked, tide.group_id.as_deref()), (&library.id, false, None));
        assert!(tide.files.iter().all(|file| house.root.join(&file.path).is_file() && file.mtime > 0));
        let mut pages = Vec::new();
        let mut after = String::new();
        loop {
            let page = stock.list_behind(&after, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after.clone_from(&last.id);
            pages.extend(page);
        }
        assert_eq!(pages, all);
        let marked = stock.list_with("[dup", "", 10).await.unwrap();
        assert_eq!(names(&marked), ["Heat (1995) [dup2].mkv"]);
        assert!(stock.list_with("[dup", &marked[0].id, 10).await.unwrap().is_empty());
        assert!(stock.list_with("_up", "", 10).await.unwrap().is_empty(), "it is no pattern");
        let libraries = stock.list_libraries().await.unwrap();
        assert_eq!((libraries.len(), &libraries[0].path), (1, &library.path));

        let links = [(tide.id.clone(), Some("g".to_owned())), ("nobody".to_owned(), Some("g".to_owned()))];
        stock.put_groups(&links).await.unwrap();
        let found = stock.find_items(&["nobody".to_owned(), tide.id.clone()]).await.unwrap();
        assert_eq!((found.len(), found[0].group_id.as_deref()), (1, Some("g")));
        let filter = Filter { issue: Some(Issue::Duplicate), ..Filter::default() };
        let page = qm_kernel::PageQuery { page: 1, page_size: 9 };
        let (listed, total) = stock.items(&filter, page).await.unwrap();
        assert_eq!((total, &listed[0].0.id), (1, &tide.id));
        stock.put_groups(&[(tide.id.clone(), None)]).await.unwrap();
        assert_eq!(stock.items(&filter, page).await.unwrap().1, 0);
        house.stops().await;
    }
}
