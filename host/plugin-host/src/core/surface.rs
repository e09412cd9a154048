//! Outside of a component, as its bytes give it: its imports and exports, read off two kinds of section. Nothing is
//! validated, translated or run by it, so the cost is that of skipping over the file once.
//!
//! Bounds: 500 imports and 500 exports, 512 bytes a name.

use wasmparser::{ComponentTypeRef, Parser, Payload};

use crate::core::role::Roles;
use crate::imports;

/// The most imports, and the most exports.
const NAMES: usize = 500;
/// The most bytes of a name.
const NAME: usize = 512;

/// The outside of a component.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Surface {
    /// Names of what it imports, without bare types.
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    /// The first import that is no interface: this host offers interfaces alone.
    loose: Option<String>,
}

impl Surface {
    /// Reads the outermost level of `bytes`; what is nested in it is skipped.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut surface = Self::default();
        let mut parser = Parser::new(0);
        let mut rest = bytes;
        loop {
            let damaged = |error: wasmparser::BinaryReaderError| format!("it is damaged: {error}");
            let (consumed, payload) = match parser.parse(rest, true).map_err(damaged)? {
                wasmparser::Chunk::Parsed { consumed, payload } => (consumed, payload),
                wasmparser::Chunk::NeedMoreData(_) => return Err("it is cut off".to_owned()),
            };
            let mut skipped = 0;
            match payload {
                Payload::ComponentImportSection(section) => {
                    for import in section {
                        let import = import.map_err(damaged)?;
                        surface.import(import.name.name, import.ty)?;
                    }
                }
                Payload::ComponentExportSection(section) => {
                    for export in section {
                        let name = named(export.map_err(damaged)?.name.name)?;
                        surface.exports.push(name);
                        few(&surface.exports, "exports")?;
                    }
                }
                Payload::ModuleSection { unchecked_range, .. }
                | Payload::ComponentSection { unchecked_range, .. } => {
                    skipped = unchecked_range.end.saturating_sub(unchecked_range.start);
                }
                Payload::End(_) => return Ok(surface),
                _ => {}
            }
            rest = rest
                .get(consumed + skipped..)
                .ok_or_else(|| "it is cut off".to_owned())?;
        }
    }

    fn import(&mut self, name: &str, ty: ComponentTypeRef) -> Result<(), String> {
        match ty {
            ComponentTypeRef::Instance(_) => self.imports.push(named(name)?),
            // A name for a type asks for nothing.
            ComponentTypeRef::Type(_) => {}
            ComponentTypeRef::Func(_)
            | ComponentTypeRef::Module(_)
            | ComponentTypeRef::Value(_)
            | ComponentTypeRef::Component(_) => {
                let name = named(name)?;
                self.loose.get_or_insert(name);
            }
        }
        few(&self.imports, "imports")
    }

    /// Refuses imports that the host has nothing for, whatever is in them. Whether what it has fits shows in linking.
    pub(crate) fn offered(&self, roles: Roles) -> Result<(), String> {
        if let Some(name) = &self.loose {
            return Err(format!(
                "it imports `{name}`, which is no interface: this host offers interfaces alone"
            ));
        }
        let own = roles.iter().flat_map(|role| role.offers());
        let offered: Vec<_> = imports::OFFERED.iter().chain(own).collect();
        match self
            .imports
            .iter()
            .find(|name| !offered.iter().any(|offer| fits(name, offer)))
        {
            Some(name) => Err(format!("it imports `{name}`, which this host does not offer")),
            None => Ok(()),
        }
    }
}

/// Tells whether `name` is `offer` (`package/interface@major.minor`) in any patch.
fn fits(name: &str, offer: &str) -> bool {
    name.strip_prefix(offer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn few(names: &[String], noun: &str) -> Result<(), String> {
    if names.len() > NAMES {
        Err(format!("it has more than {NAMES} {noun}"))
    } else {
        Ok(())
    }
}

/// A name that may be shown and compared.
fn named(text: &str) -> Result<String, String> {
    if text.len() <= NAME && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "it imports or exports a name that is none: names have at most {NAME} letters, digits and signs"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Surface, String> {
        Surface::read(&wat::parse_str(text).unwrap())
    }

    #[test]
    fn the_outermost_level_alone_is_read() {
        let surface = read(
            r#"(component
                (import "a:b/c@0.1.0" (instance))
                (import "t" (type (sub resource)))
                (core module (import "x" "y" (func)) (func (export "inner")))
                (component (import "d:e/f@1.0.0" (instance $i)) (export "deep" (instance $i)))
                (instance $o)
                (export "quartermaster:engine/engine@0.1.0" (instance $o)))"#,
        )
        .unwrap();
        assert_eq!(surface.imports, ["a:b/c@0.1.0"]);
        assert_eq!(surface.exports, ["quartermaster:engine/engine@0.1.0"]);
        assert_eq!(surface.loose, None);
    }

    #[test]
    fn what_is_damaged_or_too_much_is_refused() {
        let whole = wat::parse_str(r#"(component (core module (func (export "inner"))))"#).unwrap();
        for end in 8..whole.len() {
            assert!(
                Surface::read(&whole[..end]).is_err() || end == 8,
                "cut off at {end} of {}",
                whole.len()
            );
        }
        let many: String = (0..=NAMES)
            .map(|n| format!(r#"(import "a:b/c{n}" (instance))"#))
            .collect();
        let error = read(&format!("(component {many})")).unwrap_err();
        assert!(error.contains("more than 500 imports"), "{error}");
        // The length of the name stands before it: a blank in it does no harm to the format.
        let mut odd = wat::parse_str(r#"(component (import "a:b/cxd" (instance)))"#).unwrap();
        let at = odd.windows(7).position(|part| part == b"a:b/cxd").unwrap();
        odd[at + 5] = b'\n';
        let error = Surface::read(&odd).unwrap_err();
        assert!(error.contains("a name that is none"), "{error}");
    }

    #[test]
    fn versions_are_offered_by_major_and_minor() {
        for (name, ok) in [
            ("wasi:io/streams@0.2.6", true),
            ("wasi:io/streams@0.2", true),
            ("wasi:io/streams@0.20.0", false),
            ("wasi:io/streams@0.3.0", false),
            ("wasi:io/streams", false),
            ("quartermaster:base/log@0.1.0", true),
            ("quartermaster:engine/records@0.1.0", true),
            ("quartermaster:base/kv@0.1.0", true),
            ("quartermaster:actions/torrents@0.1.0", true),
            ("quartermaster:base/mind@0.1.0", false),
        ] {
            let surface = Surface {
                imports: vec![name.to_owned()],
                ..Surface::default()
            };
            assert_eq!(
                surface.offered(crate::core::test_role::ROLES).is_ok(),
                ok,
                "{name}"
            );
        }
    }
}
