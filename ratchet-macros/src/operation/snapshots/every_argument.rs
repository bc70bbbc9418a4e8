#[deprecated]
#[doc(hidden)]
#[repr(C)]
pub(crate) struct collect_invoice {
    _never: ::core::convert::Infallible,
}
#[allow(deprecated)]
const _: () = {
    use path::to::ratchet::__private as __ratchet;
    impl collect_invoice {
        pub(crate) const NAME: &'static __ratchet::str = "collect_invoice";
        pub(crate) const VERSION: &'static __ratchet::str = "1";
        pub(crate) const KEY_TEMPLATE: &'static __ratchet::str = "invoice:<customer.id>/<invoice_id>:collect:v1";
        pub(crate) fn enqueue<'client>(
            client: &'client __ratchet::Client,
            input: CollectInvoice,
        ) -> __ratchet::Enqueue<'client, Self> {
            __ratchet::Enqueue::new(client, Self::request(input))
        }
        pub(crate) fn request(input: CollectInvoice) -> __ratchet::Request<Self> {
            __ratchet::Request::new(&input)
        }
        pub(crate) fn key(
            input: &CollectInvoice,
        ) -> __ratchet::Result<__ratchet::Key, __ratchet::KeyError> {
            __ratchet::Render::new()
                .literal("invoice:")
                .part(__ratchet::part(|it: &CollectInvoice| &it.customer.id), input)
                .literal("/")
                .part(__ratchet::part(|it: &CollectInvoice| &it.invoice_id), input)
                .literal(":collect:v1")
                .finish()
        }
        pub(crate) fn test_context(input: &CollectInvoice) -> __ratchet::Context {
            __ratchet::test_context::<Self>(Self::key(input))
        }
    }
    impl __ratchet::Operation for collect_invoice {
        type Input = CollectInvoice;
        type Return = Result<Receipt, Failure>;
        type Codec = __ratchet::Derived;
        const DECLARED: __ratchet::Declared = __ratchet::Declared::new(
                Self::NAME,
                Self::VERSION,
                Self::KEY_TEMPLATE,
                "invoice:<>/<>:collect:v1",
            )
            .with_new_identity();
        fn spec() -> &'static __ratchet::Spec {
            static SPEC: __ratchet::Spec = __ratchet::Spec::of::<
                collect_invoice,
            >(PAYMENTS)
                .policy(__ratchet::Policy {
                    on_unknown: __ratchet::OnUnknown::MayDuplicate,
                    retry: __ratchet::RetryPolicy::RELAXED,
                    timeout: ::core::time::Duration::from_millis(30000u64),
                    retention: __ratchet::lasting(KEPT),
                    ..__ratchet::Policy::DEFAULT
                })
                .priority(5)
                .new_identity("the customer came in")
                .states(&[__ratchet::state::<State<Client>>().0]);
            &SPEC
        }
        fn key(
            input: &Self::Input,
        ) -> __ratchet::Result<__ratchet::Key, __ratchet::KeyError> {
            Self::key(input)
        }
        fn call(
            call: __ratchet::Call,
            input: Self::Input,
        ) -> impl __ratchet::Future<Output = Self::Return> + __ratchet::Send {
            collect_invoice(
                __ratchet::context::<Context>(&call),
                (__ratchet::state::<State<Client>>().1)(&call),
                input,
            )
        }
    }
    const _: () = __ratchet::require_distinguishing(
        &[
            __ratchet::part(|it: &CollectInvoice| &it.customer.id).distinguishes(),
            __ratchet::part(|it: &CollectInvoice| &it.invoice_id).distinguishes(),
        ],
    );
};
