#[doc(hidden)]
#[repr(C)]
struct charge {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __ratchet;
    impl charge {
        const NAME: &'static __ratchet::str = "charge";
        const VERSION: &'static __ratchet::str = "1";
        const KEY_TEMPLATE: &'static __ratchet::str = "charge:<invoice_id>:<type.code>:v1";
        fn enqueue<'client>(
            client: &'client __ratchet::Client,
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __ratchet::Enqueue<'client, Self> {
            __ratchet::Enqueue::new(client, Self::request(invoice_id, r#type, amount))
        }
        fn request(
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __ratchet::Request<Self> {
            __ratchet::Request::new(&(invoice_id, r#type, amount))
        }
        fn key(
            invoice_id: &InvoiceId,
            r#type: &Kind,
            amount: &u64,
        ) -> __ratchet::Result<__ratchet::Key, __ratchet::KeyError> {
            __ratchet::Render::new()
                .literal("charge:")
                .part(__ratchet::part(|it: &InvoiceId| it), invoice_id)
                .literal(":")
                .part(__ratchet::part(|it: &Kind| &it.code), r#type)
                .literal(":v1")
                .finish()
        }
        fn test_context(
            invoice_id: &InvoiceId,
            r#type: &Kind,
            amount: &u64,
        ) -> __ratchet::Context {
            __ratchet::test_context::<Self>(Self::key(invoice_id, r#type, amount))
        }
    }
    impl __ratchet::Operation for charge {
        type Input = (InvoiceId, Kind, u64);
        type Return = Result<(), Failure>;
        type Codec = __ratchet::ByName<Self>;
        const DECLARED: __ratchet::Declared = __ratchet::Declared::new(
            Self::NAME,
            Self::VERSION,
            Self::KEY_TEMPLATE,
            "charge:<>:<>:v1",
        );
        fn spec() -> &'static __ratchet::Spec {
            static SPEC: __ratchet::Spec = __ratchet::Spec::of::<
                charge,
            >(__ratchet::Contract::NONE);
            &SPEC
        }
        fn key(
            input: &Self::Input,
        ) -> __ratchet::Result<__ratchet::Key, __ratchet::KeyError> {
            Self::key(&input.0, &input.1, &input.2)
        }
        fn call(
            call: __ratchet::Call,
            input: Self::Input,
        ) -> impl __ratchet::Future<Output = Self::Return> + __ratchet::Send {
            charge(input.0, input.1, input.2)
        }
    }
    impl __ratchet::Parameters for charge {
        type Fields = (
            __ratchet::Field<InvoiceId>,
            __ratchet::Field<Kind>,
            __ratchet::Field<u64>,
        );
        const FIELDS: Self::Fields = (
            __ratchet::field::<InvoiceId>("invoice_id"),
            __ratchet::field::<Kind>("type"),
            __ratchet::field::<u64>("amount"),
        );
    }
    const _: () = __ratchet::require_distinguishing(
        &[
            __ratchet::part(|it: &InvoiceId| it).distinguishes(),
            __ratchet::part(|it: &Kind| &it.code).distinguishes(),
        ],
    );
};
