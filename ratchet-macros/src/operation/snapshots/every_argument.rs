#[deprecated]
#[doc(hidden)]
#[repr(C)]
pub(crate) struct collect_invoice {
    _never: ::core::convert::Infallible,
}
#[allow(deprecated)]
const _: () = {
    use path::to::ratchet::__private as __;
    impl collect_invoice {
        pub(crate) const NAME: &'static __::str = "collect_invoice";
        pub(crate) const VERSION: &'static __::str = "1";
        pub(crate) const KEY_TEMPLATE: &'static __::str = "invoice:<customer.id>/<invoice_id>:collect:v1";
        pub(crate) fn enqueue(
            client: &__::Client,
            input: CollectInvoice,
        ) -> __::Enqueue<'_, Self> {
            __::Enqueue::new(client, Self::request(input))
        }
        pub(crate) fn request(input: CollectInvoice) -> __::Request<Self> {
            __::Request::new(&input)
        }
        pub(crate) fn key(input: &CollectInvoice) -> __::Result<__::Key, __::KeyError> {
            __::Render::new()
                .literal("invoice:")
                .part(__::part(|it: &CollectInvoice| &it.customer.id), input)
                .literal("/")
                .part(__::part(|it: &CollectInvoice| &it.invoice_id), input)
                .literal(":collect:v1")
                .finish()
        }
        pub(crate) fn test_context(input: &CollectInvoice) -> __::Context {
            __::test_context::<Self>(Self::key(input))
        }
    }
    impl __::Operation for collect_invoice {
        type Input = CollectInvoice;
        type Return = Result<Receipt, Failure>;
        type Codec = __::Derived;
        const DECLARED: __::Declared = __::Declared::new(
            Self::NAME,
            Self::VERSION,
            Self::KEY_TEMPLATE,
            "invoice:<>/<>:collect:v1",
        );
        fn spec() -> &'static __::Spec {
            static SPEC: __::Spec = __::Spec::of::<collect_invoice>(PAYMENTS)
                .policy(__::Policy {
                    on_unknown: __::OnUnknown::MayDuplicate,
                    retry: __::RetryPolicy::RELAXED,
                    timeout: ::core::time::Duration::from_millis(30000u64),
                    retention: KEPT,
                    ..__::Policy::DEFAULT
                })
                .priority(5)
                .new_identity("the customer came in")
                .states(&[__::state::<State<Client>>().0]);
            &SPEC
        }
        fn key(input: &Self::Input) -> __::Result<__::Key, __::KeyError> {
            Self::key(input)
        }
        fn call(
            call: __::Call,
            input: Self::Input,
        ) -> impl __::Future<Output = Self::Return> + __::Send {
            collect_invoice(
                __::context::<Context>(&call),
                (__::state::<State<Client>>().1)(&call),
                input,
            )
        }
    }
    const _: () = __::require_distinguishing(
        &[
            __::part(|it: &CollectInvoice| &it.customer.id).distinguishes(),
            __::part(|it: &CollectInvoice| &it.invoice_id).distinguishes(),
        ],
    );
};
