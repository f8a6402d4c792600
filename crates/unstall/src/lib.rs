//! unstall
