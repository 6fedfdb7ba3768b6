//! What a handler's function must look like.

use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Result, ReturnType, Type};

const SHAPE: &str = "a handler is `fn(ctx: &Context, input: T) -> Result<U, Error>`; \
                     the input may be left out";

/// How a handler takes its input.
pub(crate) enum Input<'a> {
    /// Not at all.
    None,
    /// A value of this type, or the bytes as they came, borrowed.
    Owned(&'a Type),
    /// A reference to a value of this type.
    Borrowed(&'a Type),
}

/// How the function takes its input, or why it cannot be a handler.
pub(crate) fn input(function: &ItemFn) -> Result<Input<'_>> {
    let signature = &function.sig;
    if let Some(token) = &signature.asyncness {
        return Err(Error::new(
            token.span(),
            "a handler is not async: the host runs it to its end",
        ));
    }
    if let Some(token) = &signature.unsafety {
        return Err(Error::new(token.span(), "a handler is a safe function"));
    }
    if let Some(abi) = &signature.abi {
        return Err(Error::new(abi.span(), SHAPE));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new(
            signature.generics.span(),
            "a handler has no generic parameters: the host calls it with bytes",
        ));
    }
    if matches!(signature.output, ReturnType::Default) {
        return Err(Error::new(signature.ident.span(), SHAPE));
    }
    let mut inputs = signature.inputs.iter();
    let context =
        inputs.next().ok_or_else(|| Error::new(signature.paren_token.span.join(), SHAPE))?;
    if !matches!(context, FnArg::Typed(argument) if is_context(&argument.ty)) {
        return Err(Error::new(
            context.span(),
            format!("the first parameter is `&Context`: {SHAPE}"),
        ));
    }
    let input = match inputs.next() {
        None => return Ok(Input::None),
        Some(FnArg::Typed(argument)) => &*argument.ty,
        Some(other) => return Err(Error::new(other.span(), SHAPE)),
    };
    if let Some(more) = inputs.next() {
        return Err(Error::new(more.span(), format!("one input, not several: {SHAPE}")));
    }
    let Type::Reference(reference) = input else { return Ok(Input::Owned(input)) };
    if reference.mutability.is_some() {
        return Err(Error::new(input.span(), "an input is taken by value or by `&`"));
    }
    match &*reference.elem {
        element if is_byte_slice(element) => Ok(Input::Owned(input)),
        Type::Slice(_) => Err(Error::new(input.span(), "take a `Vec`, or `&[u8]` for the bytes")),
        Type::Path(path) if path.path.is_ident("str") => {
            Err(Error::new(input.span(), "take a `String`, or `&[u8]` for the bytes"))
        }
        element => Ok(Input::Borrowed(element)),
    }
}

/// `&Context`, by whatever path.
fn is_context(parameter: &Type) -> bool {
    let Type::Reference(reference) = parameter else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|segment| segment.ident == "Context")
}

fn is_byte_slice(element: &Type) -> bool {
    let Type::Slice(slice) = element else { return false };
    matches!(&*slice.elem, Type::Path(path) if path.path.is_ident("u8"))
}

/// The text of the doc comment: its lines without the blank that follows `///`.
pub(crate) fn doc_comment(function: &ItemFn) -> String {
    let lines: Vec<String> = function
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned())
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn the_input_may_be_owned_borrowed_bytes_or_absent() {
        let function = parse_quote!(
            fn a(ctx: &Context, input: Resize) -> Result<Size, Error> {}
        );
        assert!(matches!(input(&function).unwrap(), Input::Owned(_)));
        let function = parse_quote!(
            fn b(_: &sdk::Context, input: &[u8]) -> Result<(), Error> {}
        );
        assert!(matches!(input(&function).unwrap(), Input::Owned(_)));
        let function = parse_quote!(
            fn c(ctx: &Context, input: &Resize) -> Result<(), Error> {}
        );
        assert!(matches!(input(&function).unwrap(), Input::Borrowed(_)));
        let function = parse_quote!(
            fn d(ctx: &Context) -> Result<(), Error> {}
        );
        assert!(matches!(input(&function).unwrap(), Input::None));
    }

    #[test]
    fn other_functions_are_refused() {
        for text in [
            "fn f() -> Result<(), Error> {}",
            "fn f(input: Resize) -> Result<(), Error> {}",
            "fn f(ctx: &mut Context) -> Result<(), Error> {}",
            "fn f(ctx: &Context, input: &str) -> Result<(), Error> {}",
            "fn f(ctx: &Context, input: &[u32]) -> Result<(), Error> {}",
            "fn f(ctx: &Context, input: &mut Resize) -> Result<(), Error> {}",
            "fn f(ctx: &Context, a: u8, b: u8) -> Result<(), Error> {}",
            "fn f(ctx: &Context) {}",
            "fn f<T>(ctx: &Context, input: T) -> Result<(), Error> {}",
            "async fn f(ctx: &Context) -> Result<(), Error> {}",
            "unsafe fn f(ctx: &Context) -> Result<(), Error> {}",
            "extern \"C\" fn f(ctx: &Context) -> Result<(), Error> {}",
        ] {
            let function: ItemFn = syn::parse_str(text).unwrap();
            assert!(input(&function).is_err(), "{text}");
        }
    }

    #[test]
    fn the_doc_comment_is_the_description() {
        let function = parse_quote!(
            /// Makes a thumbnail.
            ///
            ///   Indented.
            fn thumbnail(ctx: &Context) -> Result<(), Error> {}
        );
        assert_eq!(doc_comment(&function), "Makes a thumbnail.\n\n  Indented.");
    }
}
