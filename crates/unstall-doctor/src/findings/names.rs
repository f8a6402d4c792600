//! Names and the hosts file.

use super::findings;

findings! {}
