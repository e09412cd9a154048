//! Migrations that are built into the program. A crate of their own, so that a new one compiles this crate and the server, not
//! every crate that uses the database. Like statements and settings they need no registration: a program that is linked with
//! this crate has them.

use qm_db::Migration;

#[allow(unsafe_code, reason = "the registry is a section of the linked program")]
const _: () = {
    /// Migrations of the folder `migrations`, in order (`build.rs` finds them). Never edited once released: their tables are in
    /// people's databases.
    #[qm_db::private::linkme::distributed_slice(qm_db::MIGRATIONS)]
    #[linkme(crate = qm_db::private::linkme)]
    static ALL: &[Migration] = include!(concat!(env!("OUT_DIR"), "/migrations.rs"));
};

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    /// A build is used by other checkouts too: it must not have brought their migrations along.
    #[test]
    fn the_build_holds_the_migrations_of_this_checkout() {
        let crate_dir = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"));
        let [built] = *qm_db::MIGRATIONS else {
            panic!("one list, not {}", qm_db::MIGRATIONS.len());
        };
        assert!(built.is_sorted_by_key(|migration| migration.version));
        for (kind, text) in [("sqlite", 0), ("postgres", 1)] {
            let folder = crate_dir.join("../../migrations").join(kind);
            let files = std::fs::read_dir(&folder)
                .expect("a folder of migrations")
                .count();
            assert_eq!(built.len(), files, "{kind}");
            for migration in built {
                let texts = [migration.sqlite, migration.postgres];
                let file = folder.join(format!("{}.sql", migration.name));
                assert_eq!(
                    std::fs::read_to_string(&file).expect("a migration"),
                    texts[text],
                    "{}",
                    file.display()
                );
            }
        }
    }
}
