#[doc(hidden)]
#[repr(C)]
struct charge {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __r;
    static __SPEC: __r::Spec = __r::Spec::of::<
        charge,
    >(&[__r::part(|it: &InvoiceId| it).kind(), __r::part(|it: &Kind| &it.code).kind()]);
    impl charge {
        const NAME: &'static __r::str = "charge";
        const VERSION: &'static __r::str = "1";
        const KEY_TEMPLATE: &'static __r::str = "charge:<invoice_id>:<type.code>:v1";
        fn enqueue(
            client: &__r::Client,
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __r::Enqueue<'_, Self> {
            __r::Enqueue::new(client, Self::request(invoice_id, r#type, amount))
        }
        fn request(
            invoice_id: InvoiceId,
            r#type: Kind,
            amount: u64,
        ) -> __r::Request<Self> {
            __r::Request::new(&(invoice_id, r#type, amount))
        }
        fn key(
            invoice_id: __r::Lent<'_, InvoiceId>,
            r#type: __r::Lent<'_, Kind>,
            amount: __r::Lent<'_, u64>,
        ) -> __r::Result<__r::Key, __r::KeyError> {
            __r::Render::of("charge:")
                .part(__r::part(|it: &InvoiceId| it), invoice_id)
                .literal(":")
                .part(__r::part(|it: &Kind| &it.code), r#type)
                .literal(":v1")
                .finish()
        }
        fn test_context(
            invoice_id: __r::Lent<'_, InvoiceId>,
            r#type: __r::Lent<'_, Kind>,
            amount: __r::Lent<'_, u64>,
        ) -> __r::Context {
            __r::test_context::<Self>(Self::key(invoice_id, r#type, amount))
        }
    }
    impl __r::Operation for charge {
        type Input = (InvoiceId, Kind, u64);
        type Return = Result<(), Failure>;
        type Codec = __r::ByName<Self>;
        const TEXTS: __r::Texts = [Self::NAME, Self::VERSION, Self::KEY_TEMPLATE];
        const SPEC: fn() -> &'static __r::Spec = || &__SPEC;
        fn render(input: &Self::Input) -> __r::Result<__r::Key, __r::KeyError> {
            Self::key(&input.0, &input.1, &input.2)
        }
        fn call(call: __r::Call, input: Self::Input) -> impl __r::Running<Self> {
            charge(input.0, input.1, input.2)
        }
    }
    impl __r::Parameters for charge {
        type Fields = (__r::Field<InvoiceId>, __r::Field<Kind>, __r::Field<u64>);
        const FIELDS: Self::Fields = (
            __r::field::<InvoiceId>("invoice_id"),
            __r::field::<Kind>("type"),
            __r::field::<u64>("amount"),
        );
        const MARKS: &'static [__r::Mark] = {
            use __r::Unmarked as _;
            &[
                __r::Mark::field("invoice_id").inner(|| __r::Inner::<InvoiceId>::MARKS),
                __r::Mark::field("type").inner(|| __r::Inner::<Kind>::MARKS),
            ]
        };
    }
};
