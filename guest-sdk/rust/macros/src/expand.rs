//! From a function to a function that is also a kind.

use crate::attributes::{self, Attributes};
use crate::signature;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ItemFn, Result};

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
    let call = match signature::input_type(&function)? {
        None => quote!(#ident(ctx)?),
        Some(input) => {
            // At the place of the type, so that an error about it points there.
            let decode = quote_spanned!(input.span()=> sdk::Decode::<#input>::new().decode(&mut input)?);
            quote!(#ident(ctx, #decode)?)
        }
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
                sdk::Encode::new(#call).encode()
            }

            static KIND: sdk::Kind = sdk::Kind {
                name: #name,
                description: #description,
                input_schema: #schema,
                deadline_ms: #deadline_ms,
                memory_bytes: #memory_bytes,
                fuel: #fuel,
                max_attempts: #max_attempts,
                call,
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
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
