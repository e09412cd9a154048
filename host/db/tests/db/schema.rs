//! The two sets of migrations make the same schema.

use std::collections::BTreeMap;
use std::path::PathBuf;

use qm_db::{Db, db_test, testing};

db_test! {
    async fn every_statement_is_accepted(db: Db) {
        testing::prepare_all(&db).await;
    }
}

/// `table.column` to its type, as the scripts of one database declare it.
fn columns(folder: &str) -> (Vec<String>, BTreeMap<String, String>) {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .join("../../migrations")
        .join(folder);
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    scripts.sort();
    let mut columns = BTreeMap::new();
    for script in &scripts {
        let text = std::fs::read_to_string(script).unwrap();
        let mut table = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
                table = rest.trim_end_matches(" (");
            } else if line.starts_with(')') {
                table = "";
            } else if let Some(change) = line.strip_suffix(';') {
                alter(&mut columns, change);
            } else if let ("    ", Some((name, kind))) =
                (&line[..line.len().min(4)], line.trim().split_once(' '))
            {
                let is_column = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                if !table.is_empty() && is_column {
                    columns.insert(
                        format!("{table}.{name}"),
                        kind.trim().trim_end_matches(',').to_owned(),
                    );
                }
            }
        }
    }
    (
        scripts
            .iter()
            .map(|script| script.file_name().unwrap().to_string_lossy().into_owned())
            .collect(),
        columns,
    )
}

/// Applies a statement that alters tables; others change nothing.
fn alter(columns: &mut BTreeMap<String, String>, statement: &str) {
    let take = |columns: &mut BTreeMap<String, String>, table: &str| {
        let prefix = format!("{table}.");
        columns
            .extract_if(.., |column, _| column.starts_with(&prefix))
            .collect::<Vec<_>>()
    };
    let words: Vec<&str> = statement.split(' ').collect();
    match words[..] {
        ["DROP", "TABLE", table] => drop(take(columns, table)),
        ["ALTER", "TABLE", table, "RENAME", "TO", name] => {
            for (column, kind) in take(columns, table) {
                columns.insert(format!("{name}.{}", &column[table.len() + 1..]), kind);
            }
        }
        ["ALTER", "TABLE", table, "ADD", "COLUMN", column, ref kind @ ..] => {
            columns.insert(format!("{table}.{column}"), kind.join(" "));
        }
        [
            "ALTER",
            "TABLE",
            table,
            "ALTER",
            "COLUMN",
            column,
            "SET",
            "NOT",
            "NULL",
        ] => {
            columns
                .get_mut(&format!("{table}.{column}"))
                .unwrap()
                .push_str(" NOT NULL");
        }
        [
            "ALTER",
            "TABLE",
            table,
            "ALTER",
            "COLUMN",
            column,
            "DROP",
            "NOT",
            "NULL",
        ] => {
            let kind = columns.get_mut(&format!("{table}.{column}")).unwrap();
            *kind = kind.replace(" NOT NULL", "");
        }
        // A constraint is no column.
        ["ALTER", "TABLE", _, "DROP" | "ADD", "CONSTRAINT", ..] => {}
        ["ALTER", ..] => panic!("this test cannot follow `{statement}`"),
        _ => {}
    }
}

#[test]
fn both_databases_have_the_same_tables_and_columns() {
    let (sqlite_scripts, sqlite) = columns("sqlite");
    let (postgres_scripts, postgres) = columns("postgres");
    assert_eq!(sqlite_scripts, postgres_scripts);
    assert!(sqlite.len() > 60, "the scripts are read: {sqlite:?}");
    assert_eq!(
        sqlite.keys().collect::<Vec<_>>(),
        postgres.keys().collect::<Vec<_>>()
    );
    for (column, kind) in &sqlite {
        let other = &postgres[column];
        let wanted = match kind.split(' ').next().unwrap() {
            "TEXT" => "TEXT",
            "REAL" => "DOUBLE PRECISION",
            "BLOB" => "BYTEA",
            "INTEGER" if kind.contains("IN (0, 1)") => "BOOLEAN",
            "INTEGER" => "BIGINT",
            kind => panic!("{column} has type {kind}, which the portable subset does not know"),
        };
        assert!(
            other.starts_with(wanted),
            "{column} is {kind} on SQLite and {other} on PostgreSQL"
        );
        for clause in [
            "NOT NULL",
            "UNIQUE",
            "PRIMARY KEY",
            "ON DELETE CASCADE",
            "ON DELETE SET NULL",
        ] {
            assert_eq!(
                kind.contains(clause),
                other.contains(clause),
                "{column} differs in {clause}"
            );
        }
    }
}
