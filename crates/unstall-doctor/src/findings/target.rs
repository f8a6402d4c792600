//! Findings at a target.

use super::findings;

findings! {}
