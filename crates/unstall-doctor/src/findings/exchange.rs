//! Connects, round trips and small writes on loopback.

use super::findings;

findings! {}
