//! Proxy settings that catch loopback.

use super::findings;

findings! {}
