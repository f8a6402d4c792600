//! No text makes the parser panic; what parses displays to what parses to the same; every error is one line
//! about a place in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstall_core::target::{Host, Target};

fuzz_target!(|text: &str| {
    match text.parse::<Target>() {
        Ok(target) => {
            assert_eq!(target.to_string().parse::<Target>(), Ok(target.clone()), "{text:?}");
            let url = format!("http://{}/?{text}", target.to_string().replace('%', "%25"));
            assert_eq!(url.parse::<Target>(), Ok(target.clone()), "{text:?}");
            assert_eq!(target.host_str().parse::<Host>().as_ref(), Ok(target.host()), "{text:?}");
        }
        Err(error) => {
            let message = error.to_string();
            assert!(text.is_char_boundary(error.position()), "{text:?}: {}", error.position());
            assert!(!message.contains(char::is_control) && message.len() < 1_000, "{text:?}: {message:?}");
        }
    }
    if let Ok(host) = text.parse::<Host>() {
        assert_eq!(host.to_string().parse::<Host>(), Ok(host), "{text:?}");
    }
});
