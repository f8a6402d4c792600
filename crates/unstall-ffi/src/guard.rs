//! Where a panic ends, so that none crosses into C.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; `otherwise` is the answer if it panics.
///
/// A panic is a bug of this library. Its message has gone to stderr, as every panic's does; what the caller sees is that
/// this call came to nothing. State that a panic could leave half-changed is not kept between calls.
pub fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::guard;

    #[test]
    fn a_panic_becomes_the_other_answer() {
        assert_eq!(guard(1, || 2), 2);
        assert_eq!(guard(1, || panic!("as a bug would")), 1);
    }

    /// Every function that C can call hands its work to `guard`.
    #[test]
    fn every_exported_function_is_guarded() {
        let sources = [
            include_str!("connect.rs"),
            include_str!("last.rs"),
            include_str!("options.rs"),
            include_str!("prepare.rs"),
            include_str!("status.rs"),
            include_str!("version.rs"),
        ];
        let mut functions = 0;
        for source in sources {
            for function in source.split("extern \"C\" fn ").skip(1) {
                let end = function.find("\n}").expect("a function ends");
                let (name, _) = function.split_once('(').expect("a function has parameters");
                let body = &function[..end];
                assert!(body.contains("guard(") || body.contains("guarded("), "{name} is not guarded");
                functions += 1;
            }
        }
        assert_eq!(functions, 10, "exported functions");
    }
}
