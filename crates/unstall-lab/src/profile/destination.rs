//! For which destinations a profile's refusals hold: `any`, `local`, an address or a prefix.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// One entry of a profile's `destinations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Everything that the lab's network reaches.
    Any,
    /// 127.0.0.0/8, ::1 and the host's own addresses.
    Local,
    /// Addresses that begin alike. An IPv4 prefix holds for the IPv4-mapped IPv6 addresses as well.
    Prefix(Prefix),
}

/// Addresses that begin alike: `127.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// 127.0.0.0/8.
    pub const LOOPBACK_V4: Self = Self { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), length: 8 };
    /// ::1.
    pub const LOOPBACK_V6: Self = Self { address: IpAddr::V6(Ipv6Addr::LOCALHOST), length: 128 };

    /// A single address; an IPv4-mapped one is taken for the IPv4 address that it is.
    pub fn single(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, length: bits(address) }
    }

    /// The first address.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// How many bits are compared.
    pub const fn length(self) -> u8 {
        self.length
    }
}

const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Whether every bit after the prefix is zero.
fn is_first(address: IpAddr, length: u8) -> bool {
    let value = match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)) << 96,
        IpAddr::V6(v6) => u128::from(v6),
    };
    value.checked_shl(u32::from(length)).unwrap_or(0) == 0
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| format!("`{address}` is no IP address"))?;
        let Some(length) = length else { return Ok(Self::single(address)) };
        let most = bits(address);
        let length = match length.parse() {
            Ok(length) if length <= most => length,
            _ => return Err(format!("`/{length}` is no prefix length of 0 to {most}")),
        };
        if !is_first(address, length) {
            return Err(format!("`{text}` has bits set after the prefix"));
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == bits(self.address) {
            self.address.fmt(f)
        } else {
            write!(f, "{}/{}", self.address, self.length)
        }
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "any" => Ok(Self::Any),
            "local" => Ok(Self::Local),
            other => match other.parse() {
                Ok(prefix) => Ok(Self::Prefix(prefix)),
                Err(why) => Err(format!("{why}; a destination is `any`, `local`, an address or a prefix")),
            },
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Local => f.write_str("local"),
            Self::Prefix(prefix) => prefix.fmt(f),
        }
    }
}

impl JsonSchema for Destination {
    fn schema_name() -> Cow<'static, str> {
        "Destination".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "`any`, `local`, an address or a prefix.", "type": "string" })
    }
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Destination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["any", "local", "127.0.0.0/8", "127.0.0.1", "::1", "fd00::/8", "0.0.0.0/0", "::/0"] {
            assert_eq!(text.parse::<Destination>().map(|d| d.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(
            "::ffff:127.0.0.1".parse::<Destination>().map(|d| d.to_string()).as_deref(),
            Ok("127.0.0.1")
        );
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, why) in [
            ("everything", "`everything` is no IP address"),
            ("127.0.0.1/33", "`/33` is no prefix length of 0 to 32"),
            ("127.0.0.1/x", "`/x` is no prefix length of 0 to 32"),
            ("127.0.0.1/8", "`127.0.0.1/8` has bits set after the prefix"),
        ] {
            let error = text.parse::<Destination>().expect_err(text);
            assert_eq!(error, format!("{why}; a destination is `any`, `local`, an address or a prefix"));
        }
    }
}
