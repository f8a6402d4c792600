//! The system: IPv6, accept queues, the clock.

use super::findings;

findings! {}
