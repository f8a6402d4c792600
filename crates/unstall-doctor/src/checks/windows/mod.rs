//! The checks of what only Windows has, one file each. What they read is Windows' own; how they judge it is plain code, tested
//! anywhere with what was read there. On other systems they run only when they are asked for by name, and then say that there is
//! nothing to measure.

pub(in crate::checks) mod count_trap;
pub(in crate::checks) mod excluded;
pub(in crate::checks) mod proxy_settings;
pub(in crate::checks) mod refusal_sweep;
pub(in crate::checks) mod timer;
pub(in crate::checks) mod winsock;
pub(in crate::checks) mod wsapoll;
pub(in crate::checks) mod wsl;

use super::NotRun;
use unstall_sys::host;

/// What a check of Windows says elsewhere.
fn only_on_windows(what: &str) -> Result<(), NotRun> {
    if cfg!(windows) { Ok(()) } else { Err(NotRun::NotApplicable(format!("only Windows has {what}"))) }
}

/// Windows' build number; `None` elsewhere.
fn build() -> Option<u32> {
    let facts = host::facts();
    facts.kernel.as_deref().filter(|_| facts.os == "windows").and_then(build_of)
}

/// The build of `10.0.26200`.
pub(super) fn build_of(version: &str) -> Option<u32> {
    version.split('.').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_the_third_number_of_a_version() {
        assert_eq!(build_of("10.0.26200"), Some(26200));
        assert_eq!(build_of("6.18.4-arch"), None);
    }
}
