//! Where a job may send requests: rules for hosts, which its manifest and the operator write, and
//! networks, of which nobody but the operator may allow the inner ones.
//!
//! A request goes out when a rule of the manifest **and** one of the operator match its scheme,
//! host and port, and when the address that the name resolves to is public or in a network that
//! the operator named. The first is decided from text, here; so is the second, for each address.

use crate::hint::Hint;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// The most rules in a manifest, and in the operator's list.
pub const MAX_HOSTS: usize = 64;

/// The longest name of a host, in bytes (RFC 1035, 2.3.4).
const MAX_HOST: usize = 253;
/// The longest part of one between two dots, in bytes.
const MAX_LABEL: usize = 63;

/// How a request travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The name in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where a URL names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A text that is no rule for hosts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a host that can be allowed: {problem}")]
pub struct HostRuleError {
    text: String,
    problem: &'static str,
}

impl Hint for HostRuleError {
    fn hint(&self) -> Option<String> {
        Some(
            "write scheme and host, such as https://api.example.com, https://*.example.com or \
             http://10.0.0.5:8080"
                .to_owned(),
        )
    }
}

/// Hosts that may be asked: `https://api.example.com`, `https://*.example.com` for those below it
/// but not itself, `https://*` for all, `http://127.0.0.1:8080`, `https://example.com:*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    scheme: Scheme,
    host: HostPattern,
    /// Nothing for every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostPattern {
    Any,
    /// A name, or an address.
    Exactly(String),
    /// Every name that ends with a dot and this one.
    Below(String),
}

impl HostRule {
    /// Whether a request may go there, as far as this rule goes.
    pub fn allows(&self, to: &Destination) -> bool {
        let host = match &self.host {
            HostPattern::Any => true,
            HostPattern::Exactly(host) => *host == to.host,
            HostPattern::Below(domain) => to
                .host
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        };
        host && self.scheme == to.scheme && self.port.is_none_or(|port| port == to.port)
    }
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        let refuse = |problem| HostRuleError { text: text.chars().take(80).collect(), problem };
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(_) => return Err(refuse("its scheme is neither http nor https")),
            None => return Err(refuse("it has no scheme")),
        };
        if rest.contains(['/', '?', '#', '@', '\\']) {
            return Err(refuse("it may have nothing but a scheme, a host and a port"));
        }
        let (host, port) = split_port(rest).ok_or_else(|| refuse("it has no host"))?;
        let port = match port {
            None => Some(scheme.default_port()),
            Some("*") => None,
            Some(port) => Some(parse_port(port).ok_or_else(|| refuse("its port is no port"))?),
        };
        let host = match host.strip_prefix("*") {
            Some("") => HostPattern::Any,
            Some(domain) => {
                let domain = domain
                    .strip_prefix('.')
                    .ok_or_else(|| refuse("a `*` stands for whole parts between dots"))?;
                let domain = host_name(domain).ok_or_else(|| refuse("its host is no name"))?;
                if !domain.contains('.') || domain.parse::<Ipv4Addr>().is_ok() {
                    // `*.com` would be a promise about half of the world.
                    return Err(refuse("a `*.` needs at least two parts after it"));
                }
                HostPattern::Below(domain)
            }
            None => HostPattern::Exactly(
                host_or_address(host).ok_or_else(|| refuse("its host is no name or address"))?,
            ),
        };
        Ok(Self { scheme, host, port })
    }
}

impl TryFrom<String> for HostRule {
    type Error = HostRuleError;
    fn try_from(text: String) -> Result<Self, HostRuleError> {
        text.parse()
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.as_str())?;
        match &self.host {
            HostPattern::Any => f.write_str("*")?,
            HostPattern::Exactly(host) => f.write_str(host)?,
            HostPattern::Below(domain) => write!(f, "*.{domain}")?,
        }
        match self.port {
            None => f.write_str(":*"),
            Some(port) if port == self.scheme.default_port() => Ok(()),
            Some(port) => write!(f, ":{port}"),
        }
    }
}

/// A text that no request can go to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a host with a port")]
pub struct DestinationError {
    text: String,
}

/// Where a request is to go, in the one form in which it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// How it travels.
    pub scheme: Scheme,
    /// A name in lower case without a dot at its end, or an address; of the sixth version in
    /// brackets.
    pub host: String,
    /// Which port.
    pub port: u16,
}

impl Destination {
    /// From the authority of a URL: a host, and a port where it is not that of the scheme. Names of
    /// users are refused.
    pub fn new(scheme: Scheme, authority: &str) -> Result<Self, DestinationError> {
        let refuse = || DestinationError { text: authority.chars().take(80).collect() };
        let (host, port) = split_port(authority).ok_or_else(refuse)?;
        let port = match port {
            None => scheme.default_port(),
            Some(port) => parse_port(port).ok_or_else(refuse)?,
        };
        let host = host_or_address(host).ok_or_else(refuse)?;
        Ok(Self { scheme, host, port })
    }

    /// The address, where the host is one: then there is nothing to resolve.
    pub fn address(&self) -> Option<IpAddr> {
        let host = self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        host.unwrap_or(&self.host).parse().ok()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.host)?;
        if self.port == self.scheme.default_port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// A host and the text of a port.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (inner, after) = rest.split_once(']')?;
        let host = authority.get(..inner.len() + 2)?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((authority, None)),
    }
}

/// Digits only: `+80` is a port to the standard library.
fn parse_port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&port: &u16| digits && port != 0)
}

/// A name or an address in its one form.
fn host_or_address(host: &str) -> Option<String> {
    if let Some(inner) = host.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Some(address.to_string());
    }
    host_name(host)
}

/// A name in lower case without the dot of the root at its end. Letters, digits, `-` and `_` only:
/// names of other alphabets are written in their ASCII form (`xn--`), which is what is compared.
fn host_name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let good = host.len() <= MAX_HOST && host.split('.').all(label);
    good.then_some(host)
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a network")]
pub struct NetworkError {
    text: String,
}

impl Hint for NetworkError {
    fn hint(&self) -> Option<String> {
        Some("write an address and a length, such as 10.0.0.0/8 or fd00::/8".to_owned())
    }
}

/// Addresses that the operator allows although they are not public: `10.20.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let net = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        net.map(Self).map_err(|_| NetworkError { text: text.chars().take(80).collect() })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Addresses of the fourth version that are not for everybody: the special-purpose registry of the
/// IANA (RFC 6890 and what updates it), multicast, what is reserved, and the one public address
/// behind which a cloud keeps its machines' secrets (Azure's wire server).
const INNER_V4: [(Ipv4Addr, u8); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The part of the sixth version that is given out to the public, ...
const OUTER_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// ... less protocols (Teredo and ORCHID among them), documentation and 6to4, which has an address
/// of the fourth version inside.
const INNER_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether everybody may send to an address: not a private, loopback, link-local, multicast,
/// reserved or documentation address, none of a cloud's metadata service, and none of the sixth
/// version that has such a one of the fourth inside. What is not known to be public is not.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            !INNER_V4.iter().any(|&(net, length)| same_v4(address, net, length))
        }
        IpAddr::V6(address) => {
            let (outer, length) = OUTER_V6;
            same_v6(address, outer, length)
                && !INNER_V6.iter().any(|&(net, length)| same_v6(address, net, length))
        }
    }
}

fn same_v4(a: Ipv4Addr, b: Ipv4Addr, length: u8) -> bool {
    (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(length)
}

fn same_v6(a: Ipv6Addr, b: Ipv6Addr, length: u8) -> bool {
    (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(length)
}

/// Why a request was not sent, or not answered, in the words of `wasi:http`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchFault {
    /// A rule forbids it: of the manifest, of the operator or of the limits.
    Denied,
    /// The address that the name resolves to is not for jobs.
    AddressDenied,
    /// The name does not resolve.
    Dns,
    /// Nothing listens there, or nothing answers.
    Connection,
    /// It took too long.
    Timeout,
    /// The other side's certificate is not good, or it does not speak TLS.
    Tls,
    /// What was sent or came back is not HTTP.
    Protocol,
    /// The request is larger than it may be.
    RequestTooLarge,
    /// The answer is larger than it may be.
    AnswerTooLarge,
    /// The host failed.
    Internal,
}

/// See [`FetchFault`]. The message is told to the guest.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct FetchError {
    /// What kind of fault it is.
    pub fault: FetchFault,
    /// What happened, in a sentence that holds no secret.
    pub message: String,
}

impl FetchError {
    /// A fault in words.
    pub fn new(fault: FetchFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> HostRule {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn to(url: &str) -> Destination {
        let (scheme, authority) = url.split_once("://").unwrap();
        let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
        Destination::new(scheme, authority).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn a_rule_is_about_scheme_host_and_port() {
        for (text, allowed, refused) in [
            (
                "https://api.example.com",
                &["https://API.example.com", "https://api.example.com.:443"][..],
                &[
                    "http://api.example.com",
                    "https://api.example.com:8443",
                    "https://example.com",
                    "https://api.example.com.evil.org",
                    "https://xapi.example.com",
                ][..],
            ),
            (
                "https://*.example.com",
                &["https://a.example.com", "https://a.b.example.com"],
                &["https://example.com", "https://badexample.com", "https://a.example.com:1"],
            ),
            ("http://127.0.0.1:*", &["http://127.0.0.1:8080"], &["https://127.0.0.1"]),
            ("http://[::1]:80", &["http://[0:0::1]"], &["http://[::2]"]),
            ("https://*", &["https://a", "https://8.8.8.8"], &["http://a", "https://a:444"]),
        ] {
            for url in allowed {
                assert!(rule(text).allows(&to(url)), "{text} {url}");
            }
            for url in refused {
                assert!(!rule(text).allows(&to(url)), "{text} {url}");
            }
        }
    }

    #[test]
    fn rules_come_back_from_their_text() {
        for text in [
            "https://api.example.com",
            "https://*.example.com:8443",
            "http://*:*",
            "http://[::1]",
            "http://10.0.0.5:8080",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("https://EXAMPLE.com.:443").to_string(), "https://example.com");
    }

    #[test]
    fn what_is_no_rule_is_refused_with_a_reason() {
        for (text, part) in [
            ("example.com", "no scheme"),
            ("ftp://example.com", "neither http"),
            ("https://example.com/path", "nothing but"),
            ("https://user@example.com", "nothing but"),
            ("https://", "no name or address"),
            ("https://*.com", "two parts"),
            ("https://*example.com", "whole parts"),
            ("https://a..b", "no name or address"),
            ("https://exämple.com", "no name or address"),
            ("https://example.com:0", "no port"),
            ("https://example.com:+80", "no port"),
            ("https://[::1", "no host"),
            ("https://[::1]x", "no host"),
        ] {
            let error = text.parse::<HostRule>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn destinations_have_one_form() {
        assert_eq!(to("https://Example.COM.").to_string(), "https://example.com");
        assert_eq!(to("http://[::FFFF:1.2.3.4]:81").host, "[::ffff:1.2.3.4]");
        for bad in ["user@host", "a b", "a:b", "a:99999", "", "a/b", "[::1]:", "host:"] {
            assert!(Destination::new(Scheme::Http, bad).is_err(), "{bad}");
        }
        assert_eq!(to("http://127.0.0.1").address(), Some(IpAddr::from([127, 0, 0, 1])));
        assert_eq!(to("http://localhost").address(), None);
    }

    #[test]
    fn inner_addresses_are_not_public_however_they_are_written() {
        for inner in [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.8.9.10",
            "168.63.129.16",
            "169.254.169.254",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(inner.parse().unwrap()), "{inner}");
        }
        for outer in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"] {
            assert!(is_public(outer.parse().unwrap()), "{outer}");
        }
    }

    #[test]
    fn networks_are_read_as_operators_write_them() {
        let ten: Network = "10.0.0.0/8".parse().unwrap();
        assert!(ten.contains("10.200.0.1".parse().unwrap()));
        assert!(ten.contains("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!ten.contains("11.0.0.1".parse().unwrap()));
        assert_eq!("127.0.0.1".parse::<Network>().unwrap().to_string(), "127.0.0.1/32");
        assert!("10.0.0.0/33".parse::<Network>().is_err());
    }
}
