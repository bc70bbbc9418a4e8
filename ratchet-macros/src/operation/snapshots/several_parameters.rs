#[doc(hidden)]
#[repr(C)]
struct charge {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __;
    impl charge {
        const NAME: &'static __::str = "charge";
        const VERSION: &'static __::str = "1";
        const KEY_TEMPLATE: &'static __::str = "charge:<invoice_id>:<type.code>:v1";
        fn enqueue(
            client: &__::Client,
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __::Enqueue<'_, Self> {
            __::Enqueue::new(client, Self::request(invoice_id, r#type, amount))
        }
        fn request(
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __::Request<Self> {
            __::Request::new(&(invoice_id, r#type, amount))
        }
        fn key(
            invoice_id: &InvoiceId,
            r#type: &Kind,
            amount: &u64,
        ) -> __::Result<__::Key, __::KeyError> {
            __::Render::new()
                .literal("charge:")
                .part(__::part(|it: &InvoiceId| it), invoice_id)
                .literal(":")
                .part(__::part(|it: &Kind| &it.code), r#type)
                .literal(":v1")
                .finish()
        }
        fn test_context(
            invoice_id: &InvoiceId,
            r#type: &Kind,
            amount: &u64,
        ) -> __::Context {
            __::test_context::<Self>(Self::key(invoice_id, r#type, amount))
        }
    }
    impl __::Operation for charge {
        type Input = (InvoiceId, Kind, u64);
        type Return = Result<(), Failure>;
        type Codec = __::ByName<Self>;
        const DECLARED: __::Declared = __::Declared::new(
            Self::NAME,
            Self::VERSION,
            Self::KEY_TEMPLATE,
            "charge:<>:<>:v1",
        );
        fn spec() -> &'static __::Spec {
            static SPEC: __::Spec = __::Spec::of::<charge>(__::Contract::NONE);
            &SPEC
        }
        fn key(input: &Self::Input) -> __::Result<__::Key, __::KeyError> {
            Self::key(&input.0, &input.1, &input.2)
        }
        fn call(
            call: __::Call,
            input: Self::Input,
        ) -> impl __::Future<Output = Self::Return> + __::Send {
            charge(input.0, input.1, input.2)
        }
    }
    impl __::Parameters for charge {
        type Fields = (__::Field<InvoiceId>, __::Field<Kind>, __::Field<u64>);
        const FIELDS: Self::Fields = (
            __::field::<InvoiceId>("invoice_id"),
            __::field::<Kind>("type"),
            __::field::<u64>("amount"),
        );
    }
    const _: () = __::require_distinguishing(
        &[
            __::part(|it: &InvoiceId| it).distinguishes(),
            __::part(|it: &Kind| &it.code).distinguishes(),
        ],
    );
};
