#[doc(hidden)]
#[repr(C)]
pub struct collect_invoice {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __r;
    static __SPEC: __r::Spec = __r::Spec::of::<
        collect_invoice,
    >(&[__r::part(|it: &CollectInvoice| &it.invoice_id).kind()]);
    impl collect_invoice {
        pub const NAME: &'static __r::str = "collect_invoice";
        pub const VERSION: &'static __r::str = "1";
        pub const KEY_TEMPLATE: &'static __r::str = "invoice:<invoice_id>:collect:v1";
        pub fn enqueue(
            client: &__r::Client,
            input: CollectInvoice,
        ) -> __r::Enqueue<'_, Self> {
            __r::Enqueue::new(client, Self::request(input))
        }
        pub fn request(input: CollectInvoice) -> __r::Request<Self> {
            __r::Request::new(&input)
        }
        pub fn key(input: &CollectInvoice) -> __r::Result<__r::Key, __r::KeyError> {
            __r::Render::of("invoice:")
                .part(__r::part(|it: &CollectInvoice| &it.invoice_id), input)
                .literal(":collect:v1")
                .finish()
        }
        pub fn test_context(input: &CollectInvoice) -> __r::Context {
            __r::test_context::<Self>(Self::key(input))
        }
    }
    impl __r::Operation for collect_invoice {
        type Input = CollectInvoice;
        type Return = Result<Receipt, Failure>;
        type Codec = __r::Derived;
        const TEXTS: __r::Texts = [Self::NAME, Self::VERSION, Self::KEY_TEMPLATE];
        const SPEC: fn() -> &'static __r::Spec = || &__SPEC;
        fn render(input: &Self::Input) -> __r::Result<__r::Key, __r::KeyError> {
            Self::key(input)
        }
        fn call(call: __r::Call, input: Self::Input) -> impl __r::Running<Self> {
            collect_invoice(__r::context::<Context>(&call), input)
        }
    }
};
