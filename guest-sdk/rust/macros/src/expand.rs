//! From a function to a function that is also a kind.

use crate::attributes::{self, Attributes};
use crate::signature::{self, Input};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ItemFn, Result, Type};

/// The function itself, unchanged, and beside it a registration that runs before anything of the
/// component is called.
pub(crate) fn handler(attributes: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let attributes = Attributes::parse(attributes)?;
    let function: ItemFn = syn::parse2(item)?;
    let ident = &function.sig.ident;
    let name = if let Some(name) = attributes.name {
        name
    } else {
        let name = ident.to_string().trim_start_matches("r#").replace('_', "-");
        attributes::check_name(&name, ident.span())?;
        name
    };
    let description = signature::doc_comment(&function);
    let schema = option(attributes.schema);
    let deadline_ms = option(attributes.deadline_ms);
    let memory_bytes = option(attributes.memory_bytes);
    let fuel = option(attributes.fuel);
    let max_attempts = option(attributes.max_attempts);
    // At the places of the types, so that errors about them point there.
    let decode =
        |ty: &Type| quote_spanned!(ty.span()=> sdk::Decode::<#ty>::new().decode(&mut input)?);
    let call = match signature::input(&function)? {
        Input::None => quote!(#ident(ctx)),
        Input::Owned(ty) => {
            let value = decode(ty);
            quote!(#ident(ctx, #value))
        }
        Input::Borrowed(ty) => {
            let value = decode(ty);
            quote!(#ident(ctx, &#value))
        }
    };
    let encode = quote_spanned! {function.sig.output.span()=>
        sdk::Encode::new(sdk::outcome(#call)?).encode()
    };
    Ok(quote! {
        #function

        const _: () = {
            use ::cofferdam_guest::__private as sdk;
            #[allow(unused_imports)]
            use sdk::{DecodeJson as _, EncodeJson as _};

            #[allow(unused_mut, unused_variables, clippy::all, clippy::pedantic)]
            fn call(
                ctx: &::cofferdam_guest::Context,
                mut input: ::std::vec::Vec<u8>,
            ) -> ::core::result::Result<::std::vec::Vec<u8>, ::cofferdam_guest::Error> {
                #encode
            }

            static KIND: sdk::Kind = {
                let mut kind = sdk::Kind::new(#name, #description, call);
                kind.input_schema = #schema;
                kind.deadline_ms = #deadline_ms;
                kind.memory_bytes = #memory_bytes;
                kind.fuel = #fuel;
                kind.max_attempts = #max_attempts;
                kind
            };

            extern "C" fn register() {
                sdk::register(&KIND);
            }

            // A constructor, in the section that the linker of each platform collects them from.
            // On WebAssembly the linker turns the section into `__wasm_call_ctors`, which the
            // generated exports of the SDK call before anything else.
            #[used]
            #[cfg_attr(
                not(any(target_vendor = "apple", windows)),
                unsafe(link_section = ".init_array")
            )]
            #[cfg_attr(
                target_vendor = "apple",
                unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs")
            )]
            #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
            static REGISTER: extern "C" fn() = register;
        };
    })
}

fn option<T: ToTokens>(value: Option<T>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}
