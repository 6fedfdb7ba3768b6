//! What a handler's function must look like.

use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Result, ReturnType, Type};

const SHAPE: &str = "a handler is `fn(ctx: &Context, input: T) -> Result<U, Error>`; \
                     the input may be left out";

/// The type of the handler's input, or `None` where it takes none.
pub(crate) fn input_type(function: &ItemFn) -> Result<Option<&Type>> {
    let signature = &function.sig;
    if let Some(token) = &signature.asyncness {
        return Err(Error::new(token.span(), "a handler is not async: the host runs it to its end"));
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
    let context = inputs.next().ok_or_else(|| Error::new(signature.paren_token.span.join(), SHAPE))?;
    if !matches!(context, FnArg::Typed(argument) if is_context(&argument.ty)) {
        return Err(Error::new(context.span(), format!("the first parameter is `&Context`: {SHAPE}")));
    }
    let input = match inputs.next() {
        None => return Ok(None),
        Some(FnArg::Typed(argument)) => &*argument.ty,
        Some(other) => return Err(Error::new(other.span(), SHAPE)),
    };
    if let Some(more) = inputs.next() {
        return Err(Error::new(more.span(), format!("one input, not several: {SHAPE}")));
    }
    if matches!(input, Type::Reference(reference) if !is_byte_slice(&reference.elem)) {
        return Err(Error::new(input.span(), "an input is owned, or `&[u8]` for the bytes as they came"));
    }
    Ok(Some(input))
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
    fn the_input_may_be_owned_bytes_or_absent() {
        for function in [
            parse_quote!(fn a(ctx: &Context, input: Resize) -> Result<Vec<u8>, Error> {}),
            parse_quote!(fn b(_: &cofferdam_guest::Context, input: &[u8]) -> Result<(), Error> {}),
        ] {
            assert!(input_type(&function).unwrap().is_some());
        }
        let function = parse_quote!(fn c(ctx: &Context) -> Result<(), Error> {});
        assert!(input_type(&function).unwrap().is_none());
    }

    #[test]
    fn other_functions_are_refused() {
        for function in [
            parse_quote!(fn a() -> Result<(), Error> {}),
            parse_quote!(fn b(input: Resize) -> Result<(), Error> {}),
            parse_quote!(fn c(ctx: &mut Context) -> Result<(), Error> {}),
            parse_quote!(fn d(ctx: &Context, input: &str) -> Result<(), Error> {}),
            parse_quote!(fn e(ctx: &Context, a: u8, b: u8) -> Result<(), Error> {}),
            parse_quote!(fn f(ctx: &Context) {}),
            parse_quote!(async fn g(ctx: &Context) -> Result<(), Error> {}),
            parse_quote!(fn h<T>(ctx: &Context, input: T) -> Result<(), Error> {}),
            parse_quote!(unsafe fn i(ctx: &Context) -> Result<(), Error> {}),
        ] {
            let function: ItemFn = function;
            assert!(input_type(&function).is_err(), "{}", function.sig.ident);
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
