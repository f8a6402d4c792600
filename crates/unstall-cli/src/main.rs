//! unstall
fn main() {}
