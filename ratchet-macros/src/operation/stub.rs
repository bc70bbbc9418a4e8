//! What stands beside a function whose signature cannot be that of an operation: callers are judged when it can.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Type, Visibility};

use super::args::Args;
use crate::names::private;

/// What of a signature can be used.
pub(crate) struct Stub {
    pub(super) vis: Visibility,
    pub(super) ident: Ident,
    pub(super) deprecated: Option<Attribute>,
    /// The types of the inputs, where they mean something outside of the function.
    pub(super) inputs: Vec<Option<Type>>,
    pub(super) output: Option<Type>,
}

/// The type and its functions, which take any value where no type is known.
pub(super) fn operation(args: &Args, stub: &Stub) -> TokenStream {
    let Stub { vis, ident, deprecated, inputs, output } = stub;
    let private = private(args.krate.as_ref());
    let quiet = deprecated.as_ref().map(|_| quote!(#[allow(deprecated)]));
    let known = |ty: &Option<Type>| ty.as_ref().map(ToTokens::to_token_stream);
    let given: Vec<_> =
        inputs.iter().map(|ty| known(ty).unwrap_or_else(|| quote!(impl __r::Sized))).collect();
    let lent: Vec<_> =
        inputs.iter().map(|ty| known(ty).unwrap_or_else(|| quote!((impl ?__r::Sized)))).collect();
    let output =
        output.as_ref().map_or_else(|| quote!(__r::Result<(), __r::Failure>), ToTokens::to_token_stream);
    quote! {
        #deprecated
        #[doc(hidden)]
        #[repr(C)]
        #vis struct #ident {
            _never: ::core::convert::Infallible,
        }
        #quiet
        const _: () = {
            use #private as __r;
            impl #ident {
                #vis const NAME: &'static __r::str = "";
                #vis const VERSION: &'static __r::str = "";
                #vis const KEY_TEMPLATE: &'static __r::str = "";
                #vis fn enqueue<'client>(_: &'client __r::Client, #(_: #given),*) -> __r::Enqueue<'client, Self> {
                    __r::missing()
                }
                #vis fn request(#(_: #given),*) -> __r::Request<Self> { __r::missing() }
                #vis fn key(#(_: &#lent),*) -> __r::Result<__r::Key, __r::KeyError> { __r::missing() }
                #vis fn test_context(#(_: &#lent),*) -> __r::Context { __r::missing() }
            }
            impl __r::Operation for #ident {
                type Input = ();
                type Return = #output;
                type Codec = __r::Missing;
                const TEXTS: __r::Texts = ["", "", ""];
                const SPEC: fn() -> &'static __r::Spec = __r::missing;
                fn render(_: &()) -> __r::Result<__r::Key, __r::KeyError> { __r::missing() }
                fn call(_: __r::Call, _: ()) -> impl __r::Running<Self> {
                    async { __r::missing() }
                }
            }
        };
    }
}
