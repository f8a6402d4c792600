//! Gives the shared library the name that programs record and look for: the first number of the version is the
//! interface's.
#![forbid(unsafe_code)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "android" | "freebsd" | "netbsd" | "openbsd" | "dragonfly") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunstall.so.{major}");
        }
        Ok("macos") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libunstall.{major}.dylib");
        }
        _ => {}
    }
}
