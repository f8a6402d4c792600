//! Local ports: TIME_WAIT, ranges, self-connects.

use super::findings;

findings! {}
