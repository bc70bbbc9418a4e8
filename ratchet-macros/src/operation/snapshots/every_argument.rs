#[deprecated]
#[doc(hidden)]
#[repr(C)]
pub(crate) struct collect_invoice {
    _never: ::core::convert::Infallible,
}
#[allow(deprecated)]
const _: () = {
    use path::to::ratchet::__private as __r;
    static __SPEC: __r::Spec = __r::checked_retention(
        __r::checked_window(
            __r::Spec::of::<
                collect_invoice,
            >(
                    &[
                        __r::part(|it: &CollectInvoice| &it.customer.id).kind(),
                        __r::part(|it: &CollectInvoice| &it.invoice_id).kind(),
                    ],
                )
                .to(PAYMENTS)
                .policy(__r::Policy {
                    on_unknown: __r::OnUnknown::MayDuplicate,
                    retry: __r::RetryPolicy::RELAXED,
                    timeout: ::core::time::Duration::from_millis(30000u64),
                    retention: __r::lasting(KEPT),
                    ..__r::Policy::DEFAULT
                })
                .queue("bulk")
                .concurrency(__r::attempts(4))
                .priority(5)
                .new_identity("the customer came in")
                .states(&[__r::state::<State<Client>>().0]),
        ),
    );
    impl collect_invoice {
        pub(crate) const NAME: &'static __r::str = "collect_invoice";
        pub(crate) const VERSION: &'static __r::str = "1";
        pub(crate) const KEY_TEMPLATE: &'static __r::str = "invoice:<customer.id>/<invoice_id>:collect:v1";
        pub(crate) fn enqueue(
            client: &__r::Client,
            input: CollectInvoice,
        ) -> __r::Enqueue<'_, Self> {
            __r::Enqueue::new(client, Self::request(input))
        }
        pub(crate) fn request(input: CollectInvoice) -> __r::Request<Self> {
            __r::Request::new(&input)
        }
        pub(crate) fn key(
            input: &CollectInvoice,
        ) -> __r::Result<__r::Key, __r::KeyError> {
            __r::Render::of("invoice:")
                .part(__r::part(|it: &CollectInvoice| &it.customer.id), input)
                .literal("/")
                .part(__r::part(|it: &CollectInvoice| &it.invoice_id), input)
                .literal(":collect:v1")
                .finish()
        }
        pub(crate) fn test_context(input: &CollectInvoice) -> __r::Context {
            __r::test_context::<Self>(Self::key(input))
        }
    }
    impl __r::Operation for collect_invoice {
        type Input = CollectInvoice;
        type Return = Result<Receipt, Failure>;
        type Codec = __r::Derived;
        const TEXTS: __r::Texts = [Self::NAME, Self::VERSION, Self::KEY_TEMPLATE];
        const NEW_IDENTITY: __r::bool = true;
        const SPEC: fn() -> &'static __r::Spec = || &__SPEC;
        fn render(input: &Self::Input) -> __r::Result<__r::Key, __r::KeyError> {
            Self::key(input)
        }
        fn call(call: __r::Call, input: Self::Input) -> impl __r::Running<Self> {
            collect_invoice(
                __r::context::<Context>(&call),
                (__r::state::<State<Client>>().1)(&call),
                input,
            )
        }
    }
};
