//! The macro that gathers what the build knows of itself.

/// The [`Build`](crate::Build) of the program whose crate calls it: its version, and what its build script put into
/// `QM_GIT_SHA`, `QM_GIT_TAG`, `QM_BUILD_EPOCH` (unix seconds) and `QM_COMPILER`, each of which may be missing.
#[macro_export]
macro_rules! build {
    () => {
        $crate::Build {
            version: env!("CARGO_PKG_VERSION"),
            git_tag: option_env!("QM_GIT_TAG"),
            git_sha: option_env!("QM_GIT_SHA"),
            epoch: option_env!("QM_BUILD_EPOCH"),
            compiler: option_env!("QM_COMPILER"),
        }
    };
}
