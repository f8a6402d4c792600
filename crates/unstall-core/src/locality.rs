//! Which addresses and names never leave this host.
