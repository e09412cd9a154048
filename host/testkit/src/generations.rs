//! Tests with every generation of a torrent client.

use qm_db::Backend;

use crate::TestDb;
use crate::database;

pub use qm_generations::{Generation, Product, Program, Suite};

/// Makes tests of `async fn adds(db: &TestDb, program: &Program)`, one a generation:
/// `every_generation! { rtorrent: adds, removes }` makes `adds::bookworm_sqlite`, `adds::bookworm_postgres`,
/// `adds::sid_sqlite` and so on. The oldest meets both databases; what a later client says differently does not depend on
/// where we keep it, so those meet one.
#[macro_export]
macro_rules! every_generation {
    (rtorrent: $($test:ident),+ $(,)?) => {
        $crate::every_generation! { @tests Rtorrent (sid_sqlite Sid) $($test)+ }
    };
    (qbittorrent: $($test:ident),+ $(,)?) => {
        $crate::every_generation! { @tests Qbittorrent (trixie_sqlite Trixie, sid_sqlite Sid) $($test)+ }
    };
    (transmission: $($test:ident),+ $(,)?) => {
        $crate::every_generation! { @tests Transmission (trixie_sqlite Trixie, sid_sqlite Sid) $($test)+ }
    };
    (@tests $product:ident $suites:tt $($test:ident)+) => {
        $($crate::every_generation! { @test $product $suites $test })+
    };
    (@test $product:ident ($($name:ident $suite:ident),+) $test:ident) => {
        mod $test {
            $crate::every_generation! { @one $product bookworm_sqlite Bookworm Sqlite $test }
            $crate::every_generation! { @one $product bookworm_postgres Bookworm Postgres $test }
            $($crate::every_generation! { @one $product $name $suite Sqlite $test })+
        }
    };
    (@one $product:ident $name:ident $suite:ident $backend:ident $test:ident) => {
        #[test]
        fn $name() {
            use $crate::generations::{Generation, Product, Suite};
            let generation = Generation::new(Product::$product, Suite::$suite);
            $crate::generations::run($crate::Backend::$backend, generation, async |db, program| {
                super::$test(db, program).await;
            });
        }
    };
}

/// The expansion of [`every_generation!`].
pub fn run(backend: Backend, generation: Generation, body: impl AsyncFn(&TestDb, &Program)) {
    generation.test(|program| database::run(backend, async |db| body(db, program).await));
}
