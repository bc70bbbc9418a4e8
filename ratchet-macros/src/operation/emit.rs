//! What stands beside the function: a type of its name, and how ratchet calls it.
//!
//! Tokens of the user's keep their spans, since errors and editors point there. Everything else is resolved at the
//! call site, so that no lint takes it for the user's own.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, LitStr, Type};

use super::args::Complete;
use super::call::{call, states};
use super::guard;
use super::handler::{Handler, Input};
use crate::input::{Place, marks_constant};
use crate::key::{Distinction, Key, Piece};
use crate::names::{generated, last_name, local, private};

/// The tokens that the items share.
pub(super) struct Parts<'a> {
    pub(super) handler: &'a Handler,
    pub(super) private: TokenStream,
    /// Names of the inputs in generated functions, in order.
    names: Vec<Ident>,
    types: Vec<&'a Type>,
}

/// What differs between a sound attribute and a broken one.
pub(super) struct Body {
    pub(super) name: LitStr,
    pub(super) version: LitStr,
    pub(super) template: LitStr,
    /// What is otherwise than usual.
    pub(super) constants: TokenStream,
    /// Everything that the attribute says, checked.
    pub(super) spec: TokenStream,
    pub(super) key: TokenStream,
    pub(super) call: TokenStream,
    /// What stands beside the type: warnings, and the guard against a second operation of the name.
    pub(super) beside: TokenStream,
}

/// The type and its implementations for a sound attribute.
pub(super) fn operation(args: &Complete<'_>, handler: &Handler, key: &Key) -> TokenStream {
    let parts = Parts::new(handler, args.krate);
    let (of, settings, states) = (parts.spec(key), args.settings.calls(), states(handler));
    let guard = guard::duplicates(args.name, args.version);
    let warnings = &key.warnings;
    parts.emit(&Body {
        name: args.name.clone(),
        version: args.version.clone(),
        template: args.key.clone(),
        constants: constants(args, key, &parts),
        spec: args.settings.checked(quote!(#of #settings #states)),
        key: parts.render(key),
        call: call(handler),
        beside: quote!(#(#warnings)* #guard),
    })
}

impl<'a> Parts<'a> {
    pub(super) fn new(handler: &'a Handler, krate: Option<&syn::Path>) -> Self {
        // The parameter's own name, for editors; as generated code, since not every function uses it.
        let name = |input: &Input| match &input.ident {
            Some(ident) => respanned(ident, generated(ident.span())),
            None => local("input"),
        };
        Self {
            handler,
            private: private(krate),
            names: handler.inputs().map(name).collect(),
            types: handler.inputs().map(|input| &input.ty).collect(),
        }
    }

    /// The items, with the parts that differ filled in.
    pub(super) fn emit(&self, body: &Body) -> TokenStream {
        let private = &self.private;
        let Handler { vis, ident, deprecated, .. } = self.handler;
        // Callers of a deprecated operation are warned; what is generated uses it in their name.
        let quiet = deprecated.as_ref().map(|_| quote!(#[allow(deprecated)]));
        let methods = self.methods(body);
        let operation = self.operation(body);
        let parameters = self.parameters();
        let Body { spec, beside, .. } = body;
        // The representation exempts the type from lints on its name.
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
                static __SPEC: __r::Spec = #spec;
                #methods
                #operation
                #parameters
            };
            #beside
        }
    }

    fn methods(&self, body: &Body) -> TokenStream {
        let Self { handler: Handler { vis, ident, .. }, names, types, .. } = self;
        let Body { name, version, template, key, .. } = body;
        let client = local("client");
        // Without a name, a `'static` in a type would stand for it too.
        let named =
            types.iter().any(|ty| has_lifetime(ty)).then(|| Lifetime::new("'client", Span::mixed_site()));
        let generics = named.iter();
        let lent_for = named.clone().unwrap_or_else(|| Lifetime::new("'_", Span::call_site()));
        let client_for = named.iter();
        let input = self.payload();
        let lent = self.lent();
        quote! {
            impl #ident {
                #vis const NAME: &'static __r::str = #name;
                #vis const VERSION: &'static __r::str = #version;
                #vis const KEY_TEMPLATE: &'static __r::str = #template;
                #vis fn enqueue #(<#generics>)* (#client: &#(#client_for)* __r::Client, #(#names: #types),*)
                    -> __r::Enqueue<#lent_for, Self>
                {
                    __r::Enqueue::new(#client, Self::request(#(#names),*))
                }
                #vis fn request(#(#names: #types),*) -> __r::Request<Self> {
                    __r::Request::new(&#input)
                }
                #vis fn key(#(#names: #lent),*) -> __r::Result<__r::Key, __r::KeyError> {
                    #key
                }
                #vis fn test_context(#(#names: #lent),*) -> __r::Context {
                    __r::test_context::<Self>(Self::key(#(#names),*))
                }
            }
        }
    }

    fn operation(&self, body: &Body) -> TokenStream {
        let ident = &self.handler.ident;
        let Body { call, constants, .. } = body;
        let (input, codec) = self.input_and_codec();
        let unknown = || quote!(__r::Result<(), __r::Failure>);
        let output = self.handler.output.as_ref().map_or_else(unknown, ToTokens::to_token_stream);
        let (value, given) = (local("input"), local("call"));
        let fields = self.fields_of(&value);
        // What the future is not (such as `Send`) is told at the function's name.
        let future = quote_spanned! {generated(ident.span())=>
            impl __r::Running<Self>
        };
        quote! {
            impl __r::Operation for #ident {
                #input
                type Return = #output;
                type Codec = #codec;
                const TEXTS: __r::Texts = [Self::NAME, Self::VERSION, Self::KEY_TEMPLATE];
                #constants
                const SPEC: fn() -> &'static __r::Spec = || &__SPEC;
                fn render(#value: &Self::Input) -> __r::Result<__r::Key, __r::KeyError> {
                    Self::key(#(#fields),*)
                }
                fn call(#given: __r::Call, #value: Self::Input) -> #future {
                    #call
                }
            }
        }
    }

    /// The declaration of the payload's type, and how it becomes JSON.
    fn input_and_codec(&self) -> (TokenStream, TokenStream) {
        let Some(Input { ty, .. }) = self.handler.single_input() else {
            let types = &self.types;
            return (quote!(type Input = (#(#types),*);), quote!(__r::ByName<Self>));
        };
        // That the type is an input is asked for here only, so a type that is none is one error.
        let codec = quote_spanned!(generated(last_name(ty))=> __r::Derived);
        (quote_spanned!(generated(last_name(ty))=> type Input = #ty;), codec)
    }

    /// References to the inputs, as types. Behind an alias, since lints advise against a `&String`.
    fn lent(&self) -> Vec<TokenStream> {
        let single = self.handler.single_input().is_some();
        let lent = |ty: &&Type| if single { quote!(&#ty) } else { quote!(__r::Lent<'_, #ty>) };
        self.types.iter().map(lent).collect()
    }

    /// What `request` makes its record of.
    fn payload(&self) -> TokenStream {
        let names = &self.names;
        if self.handler.single_input().is_some() { quote!(#(#names)*) } else { quote!((#(#names),*)) }
    }

    /// References to the inputs within a reference to the payload.
    fn fields_of(&self, value: &Ident) -> Vec<TokenStream> {
        if self.handler.single_input().is_some() {
            return vec![quote!(#value)];
        }
        (0..self.names.len()).map(syn::Index::from).map(|at| quote!(&#value.#at)).collect()
    }

    /// How several parameters are named in the payload.
    fn parameters(&self) -> Option<TokenStream> {
        if self.handler.single_input().is_some() {
            return None;
        }
        let ident = &self.handler.ident;
        let types = &self.types;
        let mark = |input: &Input| {
            let name = input.name().unwrap_or_default();
            let place = Place { name: Some(name.clone()), is_rewritten: false };
            input.marks.emit(&name, &place, &input.ty)
        };
        let marks: Vec<TokenStream> = self.handler.inputs().flat_map(mark).collect();
        let marks = marks_constant(&marks);
        let fields = self.handler.inputs().map(|input| {
            let (ty, name) = (&input.ty, input.name().unwrap_or_default());
            // One place asks for what a parameter needs, with the type's span.
            quote_spanned!(generated(last_name(ty))=> __r::field::<#ty>(#name))
        });
        Some(quote! {
            impl __r::Parameters for #ident {
                type Fields = (#(__r::Field<#types>),*);
                const FIELDS: Self::Fields = (#(#fields),*);
                #marks
            }
        })
    }

    /// The body of `key`.
    fn render(&self, key: &Key) -> TokenStream {
        let single = self.handler.single_input().is_some();
        let mut pieces = key.pieces.iter().peekable();
        let first = pieces.next_if(|piece| matches!(piece, Piece::Literal(_)));
        let start = if let Some(Piece::Literal(text)) = first {
            quote!(__r::Render::of(#text))
        } else {
            quote!(__r::Render::new())
        };
        let steps = pieces.map(|piece| match piece {
            Piece::Literal(text) => quote!(.literal(#text)),
            Piece::Part { input, .. } => {
                let part = self.part(piece);
                let value = if single { self.names.first() } else { self.names.get(*input) };
                quote!(.part(#part, #value))
            }
        });
        quote!(#start #(#steps)* .finish())
    }

    /// A placeholder, as a value that knows its type.
    fn part(&self, piece: &Piece) -> Option<TokenStream> {
        let Piece::Part { input, fields, span } = piece else { return None };
        let ty = self.types.get(*input)?;
        let it = local("it");
        let span = generated(*span);
        let borrow = (!fields.is_empty()).then(|| quote_spanned!(span=> &));
        Some(quote_spanned!(span=> __r::part(|#it: &#ty| #borrow #it #(.#fields)*)))
    }

    /// How input and output are described; what has no schema is told at its type.
    fn schemas(&self) -> TokenStream {
        let input = if let Some(Input { ty, .. }) = self.handler.single_input() {
            let schema = quote_spanned!(generated(last_name(ty))=> __r::schema_of::<#ty>);
            quote!(#schema())
        } else {
            let parameters = self.handler.inputs().map(|input| {
                let (ty, name) = (&input.ty, input.name().unwrap_or_default());
                quote_spanned!(generated(last_name(ty))=> __r::described::<#ty>(#name))
            });
            quote!(__r::schema_of_parameters(&[#(#parameters),*]))
        };
        let place = self.handler.output.as_ref().map_or_else(Span::call_site, last_name);
        let output = quote_spanned!(generated(place)=> __r::schema_of::<__r::OutputOf<Self>>);
        quote! {
            const SCHEMAS: __r::Option<fn() -> __r::Schemas> =
                __r::Some(|| __r::Schemas { input: #input, output: #output() });
        }
    }

    /// The specification, with what only the compiler knows about the key; it is told at the template.
    fn spec(&self, key: &Key) -> TokenStream {
        let ident = &self.handler.ident;
        let parts = key.pieces.iter().filter_map(|piece| self.part(piece));
        let of = match key.distinction {
            Distinction::Required => "of",
            Distinction::Waived => "of_indistinct",
        };
        let span = generated(key.span);
        let of = Ident::new(of, span);
        quote_spanned!(span=> __r::Spec::#of::<#ident>(&[#(#parts.kind()),*]))
    }
}

fn constants(args: &Complete<'_>, key: &Key, parts: &Parts<'_>) -> TokenStream {
    let schemas = args.schema.then(|| parts.schemas());
    let new_identity = args.settings.has_new_identity().then(|| {
        quote!(
            const NEW_IDENTITY: __r::bool = true;
        )
    });
    let personal_key = key.personal.then(|| {
        quote!(
            const PERSONAL_KEY: __r::bool = true;
        )
    });
    let reconcile = args.settings.reconcile().map(|ask| {
        let (about, value) = (local("about"), local("input"));
        let path = quote_spanned!(generated(ask.span())=> __r::Reconciles::<Self>::ask);
        quote! {
            fn reconcile(#about: __r::Inquiry, #value: Self::Input) -> __r::Asking<Self> {
                #path(#ask, #about, #value)
            }
        }
    });
    quote!(#new_identity #personal_key #schemas #reconcile)
}

fn has_lifetime(ty: &Type) -> bool {
    ty.to_token_stream().to_string().contains('\'')
}

fn respanned(ident: &Ident, span: Span) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(span);
    ident
}
