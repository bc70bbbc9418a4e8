// Made by `ratchet generate typescript` of a manifest. Make it again where the operations change.

import { Operation } from 'ratchet-client';

/** JSON has other names than Rust. */
export interface ArchiveOrderInput {
  orderId: number;
}

export type ArchiveOrderOutput = number;

/** An invoice that is due. */
export interface CollectInvoiceInput {
  amount_cents: number;
  currency: Currency;
  /** As the books have it. */
  invoice_id: string;
  note?: string | null;
}

export type Currency = "EUR" | "USD";

export interface CollectInvoiceOutput {
  charge_id: string;
}

export interface NotifyCustomerInput {
  customer: Customer;
  day: string;
  grade: string;
  is_trial: boolean;
  line: number;
  tags: string[];
}

export interface Customer {
  address: Address | null;
  channel: Channel;
  id: string;
}

export type Address = AddressStreet | AddressBox;

export interface AddressStreet {
  kind: "street";
  number: number;
  street: string;
}

export interface AddressBox {
  kind: "box";
  number: number;
}

export type Channel = "mail" | "push-message";

export type NotifyCustomerOutput = null;

/** `archive_order` version 1, with the key `order:<order_id>:archive:v1`. */
export const archiveOrder = new Operation<ArchiveOrderInput, ArchiveOrderOutput>({
  name: "archive_order",
  version: "1",
  key: "order:<order_id>:archive:v1",
  placeholders: [{"path":["orderId"],"form":"integer","least":0,"most":9007199254740991}],
});

/** `collect_invoice` version 1, with the key `invoice:<invoice_id>:collect:v1`. */
export const collectInvoice = new Operation<CollectInvoiceInput, CollectInvoiceOutput>({
  name: "collect_invoice",
  version: "1",
  key: "invoice:<invoice_id>:collect:v1",
  placeholders: [{"path":["invoice_id"],"form":"text"}],
});

/**
 * `forget_order` version 1, with the key `order:<order_id>:forget:v1`.
 * How a value of its key is written is known to Rust alone, so only Rust enqueues it.
 */
export const forgetOrder = new Operation<Record<string, unknown>, unknown>({
  name: "forget_order",
  version: "1",
  key: "order:<order_id>:forget:v1",
  placeholders: [{"path":["order_id"],"form":"opaque"}],
});

/** `notify_customer` version 2, with the key `customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1`. */
export const notifyCustomer = new Operation<NotifyCustomerInput, NotifyCustomerOutput>({
  name: "notify_customer",
  version: "2",
  key: "customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1",
  placeholders: [{"path":["customer","id"],"form":"uuid"}, {"path":["customer","channel"],"form":"names","names":{"mail":"mail","push-message":"push_message"}}, {"path":["day"],"form":"date"}, {"path":["grade"],"form":"character"}, {"path":["is_trial"],"form":"boolean"}, {"path":["line"],"form":"integer","least":-2147483648,"most":2147483647}],
});
