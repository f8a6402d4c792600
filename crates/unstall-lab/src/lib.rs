//! unstall-lab
