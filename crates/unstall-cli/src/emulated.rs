//! Whether what this process measures is emulated, so that its figures are called so.

use crate::output;
use schemars::JsonSchema;
use serde::Serialize;

/// What the figures of a run are.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Label {
    /// Measured on this machine.
    Measured,
    /// Measured in a lab that plays another system, or under Wine.
    Emulated,
}

impl Label {
    /// What they are here.
    pub(crate) fn here() -> Self {
        if is_emulated() { Self::Emulated } else { Self::Measured }
    }

    /// Says so on stderr where text leaves no room for it.
    pub(crate) fn note(self) {
        if matches!(self, Self::Emulated) {
            output::note("the times are emulated: this runs in a lab, or under Wine");
        }
    }
}

impl From<Label> for unstall_doctor::Label {
    fn from(label: Label) -> Self {
        match label {
            Label::Measured => Self::Measured,
            Label::Emulated => Self::Emulated,
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn is_emulated() -> bool {
    unstall_lab::inside::is_emulated()
}

/// Wine stands in for Windows.
#[cfg(windows)]
pub(crate) fn is_emulated() -> bool {
    unstall_sys::host::facts().wine.is_some()
}

#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn is_emulated() -> bool {
    false
}
