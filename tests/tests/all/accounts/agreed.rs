//! The agreed tables: which routes there are and who may call them, and which role holds which permission. They are
//! `routes.tsv` and `permissions.tsv`. A difference is a decision, so change the tables together with the code and say
//! why. Where a copy of the interface lies beside the checkout, the tables must not contradict it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use qm_kernel::{Permission, Role};
use qm_test_base::engine::FakeKinds;
use qm_testkit::{TestServer, both_databases};

use crate::document;

const ROUTES: &str = include_str!("../../../routes.tsv");
const PERMISSIONS: &str = include_str!("../../../permissions.tsv");

fn served() -> BTreeSet<String> {
    let document = qm_server::api::document().expect("a document");
    let document = serde_json::from_str(&document).expect("JSON");
    document::read(&document)
        .iter()
        .map(document::Operation::row)
        .collect()
}

/// A page of the copy of the interface beside the checkout, if there is one.
fn beside(file: &str) -> Option<String> {
    let copy = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .join("../../shared/contract")
        .join(file);
    std::fs::read_to_string(copy).ok()
}

/// `METHOD\tpath` → access.
fn by_route(table: &str) -> BTreeMap<(&str, &str), &str> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let (method, rest) = line.split_once('\t')?;
            let (path, access) = rest.split_once('\t')?;
            Some(((method, path), access.trim_end()))
        })
        .collect()
}

/// Permission → roles, as `permissions.tsv` writes them.
fn committed() -> BTreeMap<String, Vec<String>> {
    PERMISSIONS
        .lines()
        .skip(1)
        .map(|line| {
            let (permission, roles) = line.split_once('\t').expect("two columns");
            (
                permission.to_owned(),
                roles.split(' ').map(str::to_owned).collect(),
            )
        })
        .collect()
}

#[test]
fn the_served_routes_are_those_agreed() {
    let served = served();
    let agreed: BTreeSet<String> = ROUTES.lines().skip(1).map(str::to_owned).collect();
    let missing: Vec<_> = agreed.difference(&served).collect();
    let extra: Vec<_> = served.difference(&agreed).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "not served as agreed: {missing:#?}\nserved but not agreed: {extra:#?}"
    );
}

#[test]
fn the_table_of_routes_is_sorted_and_names_each_once() {
    let lines: Vec<&str> = ROUTES.lines().skip(1).collect();
    assert!(
        lines.is_sorted_by(|a, b| a < b),
        "sort it, and name no route twice"
    );
    for (route, access) in by_route(ROUTES) {
        let known = matches!(access, "public" | "authenticated")
            || access.split(' ').all(|key| Permission::from_key(key).is_some());
        assert!(known, "{route:?}: {access}");
    }
}

#[test]
fn routes_do_not_contradict_the_copy_beside_the_checkout() {
    let Some(copy) = beside("routes.tsv") else { return };
    let theirs = by_route(&copy);
    let differing: Vec<_> = by_route(ROUTES)
        .into_iter()
        .filter_map(|(route, access)| {
            let wanted = *theirs.get(&route)?;
            (wanted != access).then_some((route, access, wanted))
        })
        .collect();
    assert!(differing.is_empty(), "(route, ours, agreed): {differing:#?}");
}

#[test]
fn roles_hold_what_was_agreed() {
    let ours: BTreeMap<String, Vec<String>> = Permission::ALL
        .iter()
        .map(|permission| {
            let roles = permission.roles().iter().map(|role| role.name().to_owned());
            (permission.key().to_owned(), roles.collect())
        })
        .collect();
    assert_eq!(ours, committed());
    let counts = Role::ALL.iter().map(|role| role.permissions().count());
    assert_eq!(counts.collect::<Vec<_>>(), [119, 118, 68, 22, 14]);
}

/// Its lines are `` | `permission` | ● | ● |  |  |  | ``, a column a role in the order of [`Role::ALL`].
#[test]
fn roles_do_not_contradict_the_copy_beside_the_checkout() {
    let Some(copy) = beside("accounts.md") else { return };
    let mut theirs = BTreeMap::new();
    for line in copy.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let permission = cells[0].trim_matches('`').to_owned();
        if cells.len() != 1 + Role::ALL.len() || Permission::from_key(&permission).is_none() {
            continue;
        }
        let holders = Role::ALL
            .iter()
            .zip(&cells[1..])
            .filter(|(_, mark)| **mark == "●");
        theirs.insert(
            permission,
            holders.map(|(role, _)| role.name().to_owned()).collect(),
        );
    }
    assert_eq!(committed(), theirs);
}

both_databases! {
    /// `GET /api/users/roles` shows the permissions that the database grants: the table again, after seeding.
    async fn the_database_grants_what_was_agreed(db: &TestDb) {
        let server = TestServer::builder(db).kinds(FakeKinds::first_party()).start().await;
        let mut granted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let roles = server.admin().get("/api/users/roles").await;
        for &role in Role::ALL {
            let listed = roles.as_array().into_iter().flatten().find(|one| one["name"] == role.name());
            let listed = listed.unwrap_or_else(|| panic!("{} is not listed: {roles}", role.name()));
            for link in listed["permissions"].as_array().expect("a list") {
                let key = link["permission"]["key"].as_str().expect("a key").to_owned();
                granted.entry(key).or_default().push(role.name().to_owned());
            }
        }
        assert_eq!(roles.as_array().map(Vec::len), Some(Role::ALL.len()));
        assert_eq!(granted, committed());
    }
}
