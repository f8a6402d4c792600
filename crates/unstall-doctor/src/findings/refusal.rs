//! Refusals that come late or never.

use super::findings;

findings! {}
