#[doc(hidden)]
#[repr(C)]
struct collect_invoice {
    _never: ::core::convert::Infallible,
}
const _: () = {
    use ::ratchet::__private as __ratchet;
    impl collect_invoice {
        const NAME: &'static __ratchet::str = "invalid";
        const VERSION: &'static __ratchet::str = "0";
        const KEY_TEMPLATE: &'static __ratchet::str = "";
        fn enqueue<'client>(
            client: &'client __ratchet::Client,
            input: CollectInvoice,
        ) -> __ratchet::Enqueue<'client, Self> {
            __ratchet::Enqueue::new(client, Self::request(input))
        }
        fn request(input: CollectInvoice) -> __ratchet::Request<Self> {
            __ratchet::Request::new(&input)
        }
        fn key(
            input: &CollectInvoice,
        ) -> __ratchet::Result<__ratchet::Key, __ratchet::KeyError> {
            __ratchet::missing()
        }
        fn test_context(input: &CollectInvoice) -> __ratchet::Context {
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
            "",
        );
        fn spec() -> &'static __ratchet::Spec {
            static SPEC: __ratchet::Spec = __ratchet::Spec::of::<
                collect_invoice,
            >(__ratchet::Contract::NONE);
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
            async { __ratchet::missing() }
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
