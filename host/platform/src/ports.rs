//! Ports between areas: each area offers what others may call, and asks for what it calls, by type. No list names them all.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

/// Things that areas offer each other while a server is wired, at most one of each type: `Arc<dyn DataMover>`, say.
#[derive(Default)]
pub struct Ports(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

/// Nobody has offered a port that an area needs.
#[derive(Debug, thiserror::Error)]
#[error(
    "no area offered `{0}` before it was needed: the area that offers it must stand in the `after` of the one that needs it"
)]
pub struct PortMissing(&'static str);

impl Ports {
    /// Offers a thing to the areas that are made later.
    ///
    /// # Panics
    /// When the type was offered before: which of the two is meant would depend on an order.
    pub fn offer<T: Any + Clone + Send + Sync>(&mut self, thing: T) {
        let before = self.0.insert(TypeId::of::<T>(), Box::new(thing));
        assert!(before.is_none(), "`{}` is offered twice", type_name::<T>());
    }

    /// Copy of the thing of this type.
    ///
    /// # Errors
    /// When nobody has offered it so far.
    pub fn get<T: Any + Clone>(&self) -> Result<T, PortMissing> {
        let thing = self.0.get(&TypeId::of::<T>());
        let thing = thing.and_then(|thing| thing.downcast_ref::<T>()).cloned();
        thing.ok_or(PortMissing(type_name::<T>()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    trait Greeter: Send + Sync {
        fn greeting(&self) -> &'static str;
    }

    struct Polite;

    impl Greeter for Polite {
        fn greeting(&self) -> &'static str {
            "good day"
        }
    }

    #[test]
    fn a_port_is_found_by_its_type_and_named_when_it_is_missing() {
        let mut ports = Ports::default();
        let missing = ports.get::<Arc<dyn Greeter>>().err().unwrap().to_string();
        assert!(
            missing.contains("dyn qm_platform::ports::tests::Greeter"),
            "{missing}"
        );
        ports.offer::<Arc<dyn Greeter>>(Arc::new(Polite));
        assert_eq!(ports.get::<Arc<dyn Greeter>>().unwrap().greeting(), "good day");
        assert!(ports.get::<Arc<Polite>>().is_err(), "another type");
    }

    #[test]
    #[should_panic(expected = "is offered twice")]
    fn a_type_is_offered_once() {
        let mut ports = Ports::default();
        ports.offer(1_u8);
        ports.offer(2_u8);
    }
}
