//! Setting limits on sharing, and what is in force.

use qm_db::{Db, db_test};
use qm_kernel::{ErrorKind, Permission, Role};
use qm_platform::ActingError;
use qm_ports::engine::{Limit, ShareAction, ShareLimits, Torrent, capability};
use qm_test_base::blank::hash;
use qm_test_base::principal;

use crate::error::LimitsError;
use crate::model::views::Asked;
use crate::testing::{House, seeding};

fn on_torrent(number: u8) -> Asked {
    Asked::Torrent {
        engine_id: None,
        hash: hash(number).to_string(),
    }
}

fn ratio(limit: f64) -> ShareLimits {
    ShareLimits {
        ratio: Limit::At(limit),
        ..ShareLimits::default()
    }
}

db_test! {
    async fn limits_are_inherited_field_by_field_and_shown_with_their_source(db: Db) {
        let house = House::new(&db).await;
        house.client.put(Torrent { label: Some("films".into()), ..seeding(1, 0.5) });
        house.add_category("c", "films").await;
        house.pass().await;
        let limits = &house.limits;
        let on_engine = Asked::Engine(house.engine_id.clone());
        let all = ShareLimits { seeding_time: Limit::At(60), action: ShareAction::Remove, ..ratio(3.0) };
        let _ = limits.set_share(house.caller(), &on_engine, all, false).await.unwrap();
        let _ = limits.set_share(house.caller(), &Asked::Category("c".into()), ratio(2.0), false).await.unwrap();
        let own = ShareLimits { seeding_time: Limit::Unlimited, ..ShareLimits::default() };
        let view = limits.set_share(house.caller(), &on_torrent(1), own, false).await.unwrap();
        assert_eq!(view.own.as_ref().map(|own| own.limits), Some(own));
        let effective = &view.effective;
        assert_eq!((effective.ratio_limit(), effective.seeding_limit()), (Some(2.0), None));
        assert_eq!(effective.action(), ShareAction::Remove);
        let sources = [
            effective.ratio.as_ref().unwrap().layer.scope.word(),
            effective.seeding.as_ref().unwrap().layer.scope.word(),
            effective.action.as_ref().unwrap().layer.scope.word(),
        ];
        assert_eq!(sources, ["category", "torrent", "engine"]);
        assert!(view.torrent.as_ref().is_some_and(|torrent| torrent.is_judged && torrent.entry.is_none()));

        let view = limits.clear_share(house.caller(), &on_torrent(1)).await.unwrap();
        assert_eq!((view.own, view.effective.seeding_limit()), (None, Some(60)));
        // The clock stands still: nothing orders them.
        let mut actions: Vec<String> = house.audited().await.into_iter().map(|row| row.action).collect();
        actions.sort_unstable();
        assert_eq!(
            actions,
            ["torrents.limits.clear", "torrents.limits.set", "torrents.limits.set", "torrents.limits.set"]
        );
        for unknown in [Asked::Engine("x".into()), Asked::Category("x".into()), on_torrent(9)] {
            let error = limits.show_share(&unknown).await.err().expect("nobody has it");
            assert!(error.code().starts_with("not_found."), "{error}");
        }
        house.engines.shutdown().await;
    }

    async fn nobody_sets_what_they_could_not_do_by_hand(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 0.5));
        house.pass().await;
        let limits = &house.limits;
        // A power user may remove torrents, and no data.
        let power_user = principal(Role::PowerUser);
        assert!(!power_user.has_permission(Permission::TorrentsDeleteData));
        let they = || house.caller_as(&power_user);
        let with_data = ShareLimits { action: ShareAction::RemoveWithData, ..ratio(1.0) };
        let removes = ShareLimits { action: ShareAction::Remove, ..ratio(1.0) };
        let refused = limits.set_share(they(), &on_torrent(1), with_data, false).await.err().expect("refused");
        assert!(matches!(&refused, LimitsError::Acting(ActingError::Lacks(what)) if what == "torrents.delete_data"), "{refused}");
        let on_engine = Asked::Engine(house.engine_id.clone());
        let refused = limits.set_share(they(), &on_engine, ratio(1.0), false).await.err().expect("refused");
        assert!(matches!(&refused, LimitsError::Acting(ActingError::Lacks(what)) if what == "engines.manage"), "{refused}");
        let _ = limits.set_share(they(), &on_torrent(1), removes, false).await.unwrap();

        // The action of an administrator is not lent to a limit of theirs.
        let _ = limits.set_share(house.caller(), &on_engine, with_data, false).await.unwrap();
        let refused = limits.set_share(they(), &on_torrent(1), ratio(0.0), false).await.err().expect("refused");
        assert!(matches!(&refused, LimitsError::Acting(ActingError::Lacks(what)) if what == "torrents.delete_data"), "{refused}");
        let _ = limits.set_share(they(), &on_torrent(1), ShareLimits { action: ShareAction::Stop, ..ratio(0.0) }, false).await.unwrap();
        house.engines.shutdown().await;
    }

    async fn limits_of_the_client_itself_are_shown_and_lifted(db: Db) {
        let house = House::offering(&db, &[capability::SHARE_LIMITS, capability::INACTIVE_LIMIT]).await;
        let own = ShareLimits { inactive_time: Limit::At(60), ..ratio(1.0) };
        house.client.put(Torrent { share_limits: Some(own), ..seeding(1, 0.5) });
        house.pass().await;
        let view = house.limits.show_share(&on_torrent(1)).await.unwrap();
        assert_eq!(view.torrent.unwrap().client, Some(own));
        let _ = house.limits.set_share(house.caller(), &on_torrent(1), ratio(5.0), false).await.unwrap();
        assert!(house.commands().is_empty(), "only when it is asked for");
        let _ = house.limits.set_share(house.caller(), &on_torrent(1), ratio(5.0), true).await.unwrap();
        let lifted = house.client.torrent(&hash(1)).unwrap().share_limits.unwrap();
        assert_eq!((lifted.ratio, lifted.inactive_time), (Limit::Unlimited, Limit::Unlimited));
        house.engines.shutdown().await;
    }

    async fn an_action_that_the_client_lacks_is_refused(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 0.5));
        house.pass().await;
        let super_seed = ShareLimits { action: ShareAction::SuperSeed, ..ratio(1.0) };
        for asked in [on_torrent(1), Asked::Engine(house.engine_id.clone())] {
            let refused = house.limits.set_share(house.caller(), &asked, super_seed, false).await.err().expect("refused");
            assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unsupported, "unsupported.super-seeding"));
            assert!(refused.to_string().starts_with("seedbox cannot super-seed: "), "{refused}");
        }
        house.client.offer(capability::SUPER_SEEDING);
        let _ = house.limits.set_share(house.caller(), &on_torrent(1), super_seed, false).await.unwrap();
        house.engines.shutdown().await;
    }
}
