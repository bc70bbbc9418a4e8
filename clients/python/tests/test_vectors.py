"""The vectors of spec/, which Rust, SQL and TypeScript run too."""

import json
import unittest
from pathlib import Path
from typing import Any

import ratchet_operations as operations
from ratchet_runtime import (
    InputRefused,
    KeyRefused,
    Operation,
    canonical_json,
    check_template,
    fingerprint,
    mark,
    render,
    wire_key,
)

SPEC = Path(__file__).parents[3] / "spec"
OPERATIONS: dict[str, Operation[Any, Any]] = {
    "archive_order": operations.archive_order,
    "collect_invoice": operations.collect_invoice,
    "forget_order": operations.forget_order,
    "notify_customer": operations.notify_customer,
}


def rendered(vector: Any) -> str:
    return render(vector["template"], lambda path, _: (vector["values"][path], None))


def vectors(name: str) -> Any:
    return json.loads((SPEC / name).read_text(encoding="utf-8"))


class Keys(unittest.TestCase):
    all = vectors("keys.json")

    def test_the_same_keys_are_rendered(self) -> None:
        self.assertEqual(len(self.all["rendered"]), 42)
        for vector in self.all["rendered"]:
            key = mark(rendered(vector), vector["generation"], vector["step"])
            self.assertEqual(key, vector["key"])

    def test_the_same_values_are_refused(self) -> None:
        self.assertEqual(len(self.all["refused_values"]), 21)
        for vector in self.all["refused_values"]:
            with self.subTest(vector=vector), self.assertRaises(KeyRefused) as refused:
                mark(rendered(vector), vector.get("generation", 1), vector.get("step"))
            self.assertEqual(refused.exception.reason, vector["reason"])

    def test_the_same_templates_are_refused(self) -> None:
        self.assertEqual(len(self.all["refused_templates"]), 44)
        for vector in self.all["refused_templates"]:
            with self.subTest(vector=vector), self.assertRaises(KeyRefused) as refused:
                check_template(vector["template"])
            self.assertEqual(refused.exception.reason, vector["code"])

    def test_half_of_a_pair_is_refused(self) -> None:
        with self.assertRaises(KeyRefused) as refused:
            render("<id>", lambda *_: ("a\ud800", None))
        self.assertEqual(refused.exception.reason, "not_unicode")


class Fingerprints(unittest.TestCase):
    all = vectors("fingerprints.json")

    def test_the_same_documents_have_the_same_fingerprints(self) -> None:
        self.assertEqual(len(self.all["fingerprints"]), 10)
        for vector in self.all["fingerprints"]:
            document = json.loads(vector["input"])
            self.assertEqual(canonical_json(document), vector["canonical"])
            self.assertEqual(fingerprint(document), vector["sha256"])

    def test_the_same_documents_are_refused(self) -> None:
        self.assertEqual(len(self.all["refused"]), 3)
        for vector in self.all["refused"]:
            with self.subTest(vector=vector), self.assertRaises(InputRefused) as refused:
                fingerprint(json.loads(vector["input"]))
            self.assertEqual(refused.exception.reason, vector["reason"])

    def test_doubles_print_as_ecmascript_prints_them(self) -> None:
        for number, text in (
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (-1e-06, "-0.000001"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (0.1, "0.1"),
            (-12.5, "-12.5"),
        ):
            self.assertEqual(canonical_json(number), text)

    def test_what_is_no_json_is_refused(self) -> None:
        for value, reason in (
            (float("nan"), "not_a_number"),
            (b"x", "not_json"),
            ({1: 2}, "not_json"),
            ("\ud800", "not_unicode"),
            ("x" * 262_144, "too_large"),
        ):
            with self.subTest(reason=reason), self.assertRaises(InputRefused) as refused:
                fingerprint(value)
            self.assertEqual(refused.exception.reason, reason)


class WireKeys(unittest.TestCase):
    def test_the_same_identities_have_the_same_wire_keys(self) -> None:
        all = vectors("wire-keys.json")["wire_keys"]
        self.assertEqual(len(all), 12)
        for vector in all:
            del vector["what"]
            expected, secret = vector.pop("wire_key"), vector.pop("secret").encode()
            self.assertEqual(wire_key(secret, **vector), expected)


class Operations(unittest.TestCase):
    all = vectors("manifest-keys.json")

    def test_generated_operations_make_the_same_keys(self) -> None:
        self.assertEqual(len(self.all["keys"]), 5)
        for vector in self.all["keys"]:
            self.assertEqual(OPERATIONS[vector["operation"]].key(vector["input"]), vector["key"])

    def test_values_in_another_form_are_refused(self) -> None:
        inputs: dict[str, Any] = {}
        for vector in self.all["keys"]:
            inputs.setdefault(vector["operation"], vector["input"])
        self.assertEqual(len(self.all["refused"]), 19)
        for vector in self.all["refused"]:
            changed = {**inputs.get(vector["operation"], {}), **vector["change"]}
            with self.subTest(vector=vector), self.assertRaises(KeyRefused) as refused:
                OPERATIONS[vector["operation"]].key(changed)
            self.assertEqual(refused.exception.reason, vector["reason"])

    def test_a_producer_sends_the_key_of_the_input_and_a_worker_gets_the_handler(self) -> None:
        calls: list[Any] = []

        class Client:
            def enqueue(self, *args: Any, **settings: Any) -> dict[str, Any]:
                calls.append((args, settings))
                return {"stepId": "s1"}

            def register_tool(self, *args: Any, **options: Any) -> None:
                calls.append((args[:2], options))

        invoice: operations.CollectInvoiceInput = {"invoice_id": "inv_2048", "amount_cents": 14396, "currency": "EUR"}
        answer = operations.collect_invoice.enqueue(Client(), invoice, timeout_ms=5000)
        self.assertEqual(answer, {"stepId": "s1"})
        operations.collect_invoice.register(Client(), lambda input, _: {"charge_id": input["invoice_id"]})
        key = {"idempotency_key": "invoice:inv_2048:collect:v1", "timeout_ms": 5000}
        self.assertEqual(calls, [(("collect_invoice", "1", invoice), key), (("collect_invoice", "1"), {})])


if __name__ == "__main__":
    unittest.main()
