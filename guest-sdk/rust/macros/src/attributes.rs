//! What stands between the parentheses of `#[handler(..)]`.

use crate::units;
use proc_macro2::{Span, TokenStream};
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Ident, LitInt, LitStr, Result, Token};

/// The longest name of a kind, in bytes. The host refuses longer ones when the component is pushed.
const MAX_NAME: usize = 64;
/// The most attempts that the host lets anyone ask for.
const MAX_ATTEMPTS: u32 = 100;

/// The checked attributes of one handler.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<String>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) fuel: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
    /// Any expression for a `&'static str`: a literal, `include_str!(..)`, the path of a constant.
    pub(crate) schema: Option<Expr>,
}

impl Attributes {
    /// Reads and checks all of them; the first problem is the error.
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let parser = |input: ParseStream<'_>| {
            let mut attributes = Self::default();
            while !input.is_empty() {
                attributes.parse_one(input)?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(attributes)
        };
        parser.parse2(tokens)
    }

    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        match key.to_string().as_str() {
            "name" => {
                let value: LitStr = input.parse()?;
                check_name(&value.value(), value.span())?;
                set(&mut self.name, value.value(), &key)
            }
            "deadline" => set(&mut self.deadline_ms, duration(input)?, &key),
            "memory" => set(&mut self.memory_bytes, size(input)?, &key),
            "fuel" => set(&mut self.fuel, number(input, u64::MAX)?, &key),
            "max_attempts" => {
                let attempts = number(input, u64::from(MAX_ATTEMPTS))?;
                set(&mut self.max_attempts, u32::try_from(attempts).unwrap_or(MAX_ATTEMPTS), &key)
            }
            "schema" => set(&mut self.schema, input.parse()?, &key),
            other => Err(Error::new(
                key.span(),
                format!(
                    "`{other}` is not an attribute of a handler: there are `name`, `deadline`, \
                     `memory`, `fuel`, `max_attempts` and `schema`"
                ),
            )),
        }
    }
}

/// Refuses what the host would refuse as the name of a kind.
pub(crate) fn check_name(name: &str, span: Span) -> Result<()> {
    let plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if starts_well && name.len() <= MAX_NAME && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::new(
        span,
        format!(
            "`{name}` cannot be the name of a kind: use 1 to {MAX_NAME} lower-case letters, \
             digits, `-`, `_` and `.`, starting with a letter"
        ),
    ))
}

fn set<T>(slot: &mut Option<T>, value: T, key: &Ident) -> Result<()> {
    if slot.is_some() {
        return Err(Error::new(key.span(), format!("`{key}` is given twice")));
    }
    *slot = Some(value);
    Ok(())
}

fn duration(input: ParseStream<'_>) -> Result<u64> {
    let value: LitStr = input.parse().map_err(|error| {
        Error::new(error.span(), "a deadline is a text such as \"250ms\", \"10s\" or \"1h30m\"")
    })?;
    match units::duration_ms(&value.value()) {
        Some(0) => Err(Error::new(value.span(), "a deadline must be longer than zero")),
        Some(millis) => Ok(millis),
        None => Err(Error::new(
            value.span(),
            format!(
                "`{}` is not a duration: write it like 250ms, 10s, 5m, 1h30m or 2d",
                value.value()
            ),
        )),
    }
}

fn size(input: ParseStream<'_>) -> Result<u64> {
    let value: LitStr = input.parse().map_err(|error| {
        Error::new(error.span(), "a memory limit is a text such as \"64KiB\" or \"128MiB\"")
    })?;
    match units::size_bytes(&value.value()) {
        Some(0) => Err(Error::new(value.span(), "a memory limit must be larger than zero")),
        Some(bytes) => Ok(bytes),
        None => Err(Error::new(
            value.span(),
            format!("`{}` is not a size: write it like 512B, 64KiB, 16MiB or 1GiB", value.value()),
        )),
    }
}

fn number(input: ParseStream<'_>, max: u64) -> Result<u64> {
    let value: LitInt = input.parse()?;
    let number = value.base10_parse::<u64>()?;
    if number == 0 || number > max {
        return Err(Error::new(value.span(), format!("must be 1 to {max}")));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn refusal(tokens: TokenStream) -> String {
        Attributes::parse(tokens).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn all_attributes_are_read() {
        let attributes = Attributes::parse(quote!(
            name = "make.thumbnail",
            deadline = "1m30s",
            memory = "128MiB",
            fuel = 5_000_000_000,
            max_attempts = 6,
            schema = include_str!("schema.json"),
        ))
        .unwrap();
        assert_eq!(attributes.name.as_deref(), Some("make.thumbnail"));
        assert_eq!(attributes.deadline_ms, Some(90_000));
        assert_eq!(attributes.memory_bytes, Some(128 << 20));
        assert_eq!(attributes.fuel, Some(5_000_000_000));
        assert_eq!(attributes.max_attempts, Some(6));
        assert!(attributes.schema.is_some());
    }

    #[test]
    fn other_attributes_are_refused_with_what_to_write_instead() {
        for (tokens, part) in [
            (quote!(timeout = "3s"), "there are `name`, `deadline`"),
            (quote!(deadline = "3 seconds"), "`3 seconds` is not a duration"),
            (quote!(deadline = 3), "a deadline is a text"),
            (quote!(deadline = "0s"), "longer than zero"),
            (quote!(memory = "64MB"), "`64MB` is not a size"),
            (quote!(fuel = 0), "must be 1 to"),
            (quote!(max_attempts = 101), "must be 1 to 100"),
            (quote!(name = "Thumbnail"), "cannot be the name of a kind"),
            (quote!(fuel = 1, fuel = 2), "`fuel` is given twice"),
        ] {
            let message = refusal(tokens);
            assert!(message.contains(part), "{message}");
        }
    }
}
