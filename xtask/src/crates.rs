//! The crates of the workspace, with what `[package.metadata.quartermaster]` of each says: its tier, whether it is made of the
//! layers of an area, and the needs of its tests. `cargo xtask crates` writes them into `docs/crates.md`.

use std::fmt::Write as _;
use std::path::Path;

/// A crate of the workspace.
#[derive(Debug)]
pub struct Krate {
    /// Package name, e.g. `qm-torrents`.
    pub name: String,
    /// Folder from the root of the workspace, e.g. `host/torrents`.
    pub folder: String,
    /// The manifest's `description`: one line.
    pub about: String,
    /// Tier of the crate: it may depend on lower tiers only.
    pub tier: u64,
    /// True when its modules are the layers of an area.
    pub has_layers: bool,
    /// Needs of its tests; `None`: everything that can be set up.
    pub needs: Option<Needs>,
    /// Crates of the workspace that it depends on, those of its tests left out.
    pub dependencies: Vec<String>,
}

/// Needs of a crate's tests, beside a C compiler.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Debian packages.
    pub packages: Vec<String>,
    /// The components of `plugins/` are needed.
    pub plugins: bool,
}

/// Every crate of the workspace, by name.
///
/// # Errors
/// When cargo does not answer, or a manifest lacks `description` or `[package.metadata.quartermaster] tier`.
pub fn read(root: &Path) -> Result<Vec<Krate>, String> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".into()])
        .exec()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let names: Vec<String> = metadata
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let mut crates = Vec::new();
    for package in &metadata.packages {
        let manifest = package.manifest_path.as_std_path();
        let folder = manifest
            .parent()
            .and_then(|folder| folder.strip_prefix(root).ok());
        let folder = folder.ok_or_else(|| format!("{} lies outside the workspace", package.name))?;
        let about = package.description.clone();
        let about = about.ok_or_else(|| format!("{}: add a `description`", manifest.display()))?;
        let words = &package.metadata["quartermaster"];
        let tier = words["tier"].as_u64().ok_or_else(|| {
            format!(
                "{}: add `[package.metadata.quartermaster]` with `tier = N`, see ARCHITECTURE.md",
                manifest.display()
            )
        })?;
        let packages = words["needs"].as_array().map(|needs| {
            let names = needs.iter().filter_map(|need| need.as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        });
        let ours = package.dependencies.iter().filter(|dependency| {
            dependency.kind != cargo_metadata::DependencyKind::Development && names.contains(&dependency.name)
        });
        crates.push(Krate {
            name: package.name.to_string(),
            folder: folder.to_string_lossy().into_owned(),
            about,
            tier,
            has_layers: words["layers"].as_bool().unwrap_or(false),
            needs: packages.map(|packages| Needs {
                packages,
                plugins: words["plugins"].as_bool().unwrap_or(false),
            }),
            dependencies: ours.map(|dependency| dependency.name.clone()).collect(),
        });
    }
    crates.sort_by(|a, b| (a.tier, &a.folder).cmp(&(b.tier, &b.folder)));
    Ok(crates)
}

/// Text of `docs/crates.md`.
pub fn document(crates: &[Krate]) -> String {
    let mut text = String::from(
        "# Crates\n\n\
         Written by `cargo xtask crates` from the manifests: `description`, and `[package.metadata.quartermaster]` with the tier\n\
         (a crate depends on lower tiers only) and the needs of its tests. Change it there.\n\n\
         `cargo xtask test -p NAME` installs what the tests of a crate need, and runs them.\n\n\
         | folder | crate | tier | what it is | its tests need |\n|---|---|---|---|---|\n",
    );
    for krate in crates {
        let needs = match &krate.needs {
            None => "everything".to_owned(),
            Some(needs) if needs.packages.is_empty() && !needs.plugins => "–".to_owned(),
            Some(needs) => {
                let plugins = needs.plugins.then(|| "built plugins".to_owned());
                let packages = needs.packages.iter().map(|package| format!("`{package}`"));
                packages.chain(plugins).collect::<Vec<_>>().join(", ")
            }
        };
        let (folder, name, tier, about) = (&krate.folder, &krate.name, krate.tier, &krate.about);
        let _ = writeln!(text, "| `{folder}` | `{name}` | {tier} | {about} | {needs} |");
    }
    text
}
