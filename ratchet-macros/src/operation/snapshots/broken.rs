#[doc(hidden)]
#[repr(C)]
struct collect_invoice {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __r;
    static __SPEC: __r::Spec = __r::Spec::plain::<collect_invoice>();
    impl collect_invoice {
        const NAME: &'static __r::str = "invalid";
        const VERSION: &'static __r::str = "0";
        const KEY_TEMPLATE: &'static __r::str = "";
        fn enqueue(
            client: &__r::Client,
            input: CollectInvoice,
        ) -> __r::Enqueue<'_, Self> {
            __r::Enqueue::new(client, Self::request(input))
        }
        fn request(input: CollectInvoice) -> __r::Request<Self> {
            __r::Request::new(&input)
        }
        fn key(input: &CollectInvoice) -> __r::Result<__r::Key, __r::KeyError> {
            __r::missing()
        }
        fn test_context(input: &CollectInvoice) -> __r::Context {
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
            async { __r::missing() }
        }
    }
};
::core::compile_error!(
    "R015: `versoin` is no argument of an operation\nhelp: did you mean `version`? There are `name`, `version`, `key`, `destination`, `on_unknown`, `reconcile`, `reconcile_after`, `retry`, `timeout`, `retention`, `replay_within`, `queue`, `concurrency`, `priority`, `new_identity`, `schema`, `allow` and `crate`",
)
::core::compile_error!(
    "R015: `soon` is no duration: it does not begin with a whole number\nhelp: write a number and a unit, such as `timeout = \"30s\"`",
)
::core::compile_error!(
    "R001: `attempt` in the key counts attempts, so every retry would carry another key and nothing would be deduplicated\n\n    invoice:<attempt>\n            ^^^^^^^^^\nhelp: remove `<attempt>`; to read the attempt, take a `ctx: ratchet::Context` and call `ctx.attempt()`",
)
