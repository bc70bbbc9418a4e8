#[doc(hidden)]
#[repr(C)]
struct collect_invoice {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __;
    impl collect_invoice {
        const NAME: &'static __::str = "invalid";
        const VERSION: &'static __::str = "0";
        const KEY_TEMPLATE: &'static __::str = "";
        fn enqueue(client: &__::Client, input: CollectInvoice) -> __::Enqueue<'_, Self> {
            __::Enqueue::new(client, Self::request(input))
        }
        fn request(input: CollectInvoice) -> __::Request<Self> {
            __::Request::new(&input)
        }
        fn key(input: &CollectInvoice) -> __::Result<__::Key, __::KeyError> {
            __::missing()
        }
        fn test_context(input: &CollectInvoice) -> __::Context {
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
            "",
        );
        fn spec() -> &'static __::Spec {
            static SPEC: __::Spec = __::Spec::of::<collect_invoice>(__::Contract::NONE);
            &SPEC
        }
        fn key(input: &Self::Input) -> __::Result<__::Key, __::KeyError> {
            Self::key(input)
        }
        fn call(
            call: __::Call,
            input: Self::Input,
        ) -> impl __::Future<Output = Self::Return> + __::Send {
            async { __::missing() }
        }
    }
};
::core::compile_error!(
    "R015: `versoin` is no argument of an operation\nhelp: did you mean `version`? There are `name`, `version`, `key`, `destination`, `on_unknown`, `retry`, `timeout`, `retention`, `priority`, `new_identity`, `allow` and `crate`",
)
::core::compile_error!(
    "R015: `soon` is no duration: it does not begin with a whole number\nhelp: write a number and a unit, such as `timeout = \"30s\"`",
)
::core::compile_error!(
    "R001: `attempt` in the key counts attempts, so every retry would carry another key and nothing would be deduplicated\n\n    invoice:<attempt>\n            ^^^^^^^^^\nhelp: remove `<attempt>`; the handler can read the attempt from `ctx.attempt()`",
)
