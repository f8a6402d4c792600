#!/bin/sh
# install.sh PREFIX [FOLDER]: installs header, libraries and pkg-config file of unstall's C interface on Linux. FOLDER is
# where Cargo put the libraries; `cargo build --release --package unstall-ffi` puts them into target/release. DESTDIR
# comes before PREFIX where packages are made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:?usage: install.sh PREFIX [FOLDER]}
from=${2:-$here/../../target/release}
to=${DESTDIR-}$prefix
version=$(sed -n 's/^#define UNSTALL_VERSION "\(.*\)"/\1/p' "$here/include/unstall.h")
install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here/include/unstall.h" "$to/include/unstall.h"
install -m 644 "$from/libunstall_ffi.a" "$to/lib/libunstall.a"
install -m 755 "$from/libunstall_ffi.so" "$to/lib/libunstall.so.$version"
ln -sf "libunstall.so.$version" "$to/lib/libunstall.so.${version%%.*}"
ln -sf "libunstall.so.${version%%.*}" "$to/lib/libunstall.so"
sed "s|@prefix@|$prefix|; s|@version@|$version|" "$here/unstall.pc.in" >"$to/lib/pkgconfig/unstall.pc"
