// Made by `ratchet generate typescript` of a manifest. Make it again where the operations change.

import { Operation } from 'ratchet-client';

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

/**
 * `archive_order` version 1, with the key `order:<order_id>:archive:v1`.
 * How a value of its key is written is known to Rust alone, so only Rust enqueues it.
 */
export const archiveOrder = new Operation<Record<string, unknown>, unknown>({
  name: "archive_order",
  version: "1",
  key: "order:<order_id>:archive:v1",
  forms: [{"form":"opaque"}],
});

/** `collect_invoice` version 1, with the key `invoice:<invoice_id>:collect:v1`. */
export const collectInvoice = new Operation<CollectInvoiceInput, CollectInvoiceOutput>({
  name: "collect_invoice",
  version: "1",
  key: "invoice:<invoice_id>:collect:v1",
  forms: [{"form":"text"}],
});

/** `notify_customer` version 2, with the key `customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1`. */
export const notifyCustomer = new Operation<NotifyCustomerInput, NotifyCustomerOutput>({
  name: "notify_customer",
  version: "2",
  key: "customer:<customer.id>/<customer.channel>/<day>:<grade>/<is_trial>/<line>:notify:v1",
  forms: [{"form":"uuid"}, {"form":"names","names":{"mail":"mail","push-message":"push_message"}}, {"form":"date"}, {"form":"character"}, {"form":"boolean"}, {"form":"integer","least":-2147483648,"most":2147483647}],
});
