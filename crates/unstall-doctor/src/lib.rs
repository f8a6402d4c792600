//! unstall-doctor
