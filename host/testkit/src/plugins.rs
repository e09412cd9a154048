//! Plugin files for a test: copies of the built ones in a directory of its own.

use std::path::{Path, PathBuf};

/// Where `cargo xtask plugins` puts first-party plugins; `QM_PLUGINS_DIR` says otherwise.
pub fn built_directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("QM_PLUGINS_DIR") {
        return directory.into();
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    home.join(".cache/quartermaster/plugins")
}

/// A directory beside that of the built plugins, e.g. `plugins-fixtures`.
pub(crate) fn beside(what: &str) -> PathBuf {
    let plugins = built_directory();
    let name = plugins
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("plugins");
    plugins.with_file_name(format!("{name}-{what}"))
}

/// A built first-party plugin, fixture or example by file name.
///
/// # Panics
/// When it is not built, saying how to.
pub fn file(name: &str) -> PathBuf {
    let found = [built_directory(), beside("fixtures"), beside("examples")]
        .into_iter()
        .map(|directory| directory.join(name))
        .find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not built: run `cargo xtask plugins` (`cargo xtask examples` for other languages), or set QM_PLUGINS_DIR"))
}

/// Puts a built plugin into `directory` under the name `to`, whole at once, as an installer should.
pub fn install_as(name: &str, directory: &Path, to: &str) {
    let partial = directory.join(format!("{to}.partial"));
    std::fs::copy(file(name), &partial).expect("the plugins directory is ours");
    std::fs::rename(partial, directory.join(to)).expect("the plugins directory is ours");
}

/// Puts a built plugin into `directory`.
pub fn install(name: &str, directory: &Path) {
    install_as(name, directory, name);
}
