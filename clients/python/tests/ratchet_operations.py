# Made by `ratchet generate python` of a manifest. Make it again where the operations change.

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from ratchet_runtime import Operation


# JSON has other names than Rust.
class ArchiveOrderInput(TypedDict):
    orderId: int


ArchiveOrderOutput: TypeAlias = "int"


# An invoice that is due.
class CollectInvoiceInput(TypedDict):
    amount_cents: int
    currency: Currency
    # As the books have it.
    invoice_id: str
    note: NotRequired[str | None]


Currency: TypeAlias = "Literal[\"EUR\"] | Literal[\"USD\"]"


class CollectInvoiceOutput(TypedDict):
    charge_id: str


class NotifyCustomerInput(TypedDict):
    customer: Customer
    day: str
    grade: str
    is_trial: bool
    line: int
    tags: list[str]


class Customer(TypedDict):
    address: Address | None
    channel: Channel
    id: str


Address: TypeAlias = "AddressStreet | AddressBox"


class AddressStreet(TypedDict):
    kind: Literal["street"]
    number: int
    street: str


class AddressBox(TypedDict):
    kind: Literal["box"]
    number: int


Channel: TypeAlias = "Literal[\"mail\"] | Literal[\"push-message\"]"


NotifyCustomerOutput: TypeAlias = "None"


# `archive_order` version 1, with the key `order:<order_id>:archive:v1`.
archive_order: Operation[ArchiveOrderInput, ArchiveOrderOutput] = Operation(
    "archive_order",
    "1",
    key="order:<order_id>:archive:v1",
    placeholders=[{"form": "integer", "least": 0, "most": 9007199254740991, "path": ["orderId"]}],
)


# `collect_invoice` version 1, with the key `invoice:<invoice_id>:collect:v1`.
collect_invoice: Operation[CollectInvoiceInput, CollectInvoiceOutput] = Operation(
    "collect_invoice",
    "1",
    key="invoice:<invoice_id>:collect:v1",
    placeholders=[{"form": "text", "path": ["invoice_id"]}],
)


# `forget_order` version 1, with the key `order:<order_id>:forget:v1`.
# How a value of its key is written is known to Rust alone, so only Rust enqueues it.
forget_order: Operation[dict[str, Any], Any] = Operation(
    "forget_order",
    "1",
    key="order:<order_id>:forget:v1",
    placeholders=[{"form": "opaque", "path": ["order_id"]}],
)


# `notify_customer` version 2, with the key `customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1`.
notify_customer: Operation[NotifyCustomerInput, NotifyCustomerOutput] = Operation(
    "notify_customer",
    "2",
    key="customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1",
    placeholders=[{"form": "uuid", "path": ["customer", "id"]}, {"form": "names", "names": {"mail": "mail", "push-message": "push_message"}, "path": ["customer", "channel"]}, {"form": "date", "path": ["day"]}, {"form": "character", "path": ["grade"]}, {"form": "boolean", "path": ["is_trial"]}, {"form": "integer", "least": -2147483648, "most": 2147483647, "path": ["line"]}],
)
