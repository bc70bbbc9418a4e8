// The vectors of spec/, which Rust, SQL and Python run too.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { InputError, KeyError, Operation, canonicalJson, fingerprint, mark, renderKey, wireKey } from '../src/index.js';
import { render } from '../src/key.js';
import * as operations from './ratchet_operations.js';

/** Integers that doubles round are read as `BigInt`. */
function vectors<T>(name: string): T {
  const file = new URL(`../../../../spec/${name}`, import.meta.url);
  const text = readFileSync(file, 'utf8').replaceAll(/: (-?\d{16,})([,}])/g, ': "BigInt $1"$2');
  const revive = (_: string, value: unknown) =>
    typeof value === 'string' && value.startsWith('BigInt ') ? BigInt(value.slice(7)) : value;
  return JSON.parse(text, revive) as T;
}

interface KeyVector {
  template: string;
  values: Record<string, unknown>;
  generation?: number;
  step?: string | null;
}
const keys = vectors<{
  rendered: (KeyVector & { key: string })[];
  refused_values: (KeyVector & { reason: string })[];
  refused_templates: { template: string; code: string }[];
}>('keys.json');

function identity({ template, values, generation = 1, step }: KeyVector): string {
  return mark(render(template, (path) => ({ value: values[path] })), generation, step ?? undefined);
}

function refusedFor(reason: string) {
  return (error: unknown) => (error instanceof KeyError || error instanceof InputError) && error.reason === reason;
}

test('the same keys are rendered', () => {
  assert.equal(keys.rendered.length, 42);
  for (const vector of keys.rendered) assert.equal(identity(vector), vector.key);
});

test('the same values are refused', () => {
  assert.equal(keys.refused_values.length, 21);
  for (const vector of keys.refused_values) {
    assert.throws(() => identity(vector), refusedFor(vector.reason), JSON.stringify(vector));
  }
});

test('the same templates are refused', () => {
  assert.equal(keys.refused_templates.length, 44);
  for (const { template, code } of keys.refused_templates) {
    assert.throws(() => renderKey(template, {}), refusedFor(code), template);
  }
});

test('what JSON and Rust do not have in a key is refused', () => {
  for (const [id, reason] of [
    ['a\uD800', 'not_unicode'],
    [2 ** 53, 'not_an_integer'],
    [Number.NaN, 'not_an_integer'],
    [undefined, 'missing'],
    [['a'], 'not_a_key_part'],
    [null, 'not_a_key_part'],
  ] as const) {
    assert.throws(() => renderKey('<id>', { id }), refusedFor(reason), reason);
  }
  // What stands in the prototype is no member.
  assert.throws(() => renderKey('<id>', Object.create({ id: 'x' })), refusedFor('missing'));
});

const documents = vectors<{
  fingerprints: { input: string; canonical: string; sha256: string; what: string }[];
  refused: { input: string; reason: string }[];
}>('fingerprints.json');

test('the same documents have the same canonical form and fingerprint', () => {
  assert.equal(documents.fingerprints.length, 10);
  for (const { input, canonical, sha256, what } of documents.fingerprints) {
    const document: unknown = JSON.parse(input);
    assert.equal(canonicalJson(document), canonical, what);
    // Numbers beyond 2^53 cannot be told from integers that were rounded, so none is enqueued from here.
    if (what !== 'doubles print as ECMAScript prints them') assert.equal(fingerprint(document), sha256, what);
  }
});

test('the same documents are refused', () => {
  assert.equal(documents.refused.length, 3);
  for (const { input, reason } of documents.refused) {
    assert.throws(() => fingerprint(JSON.parse(input)), refusedFor(reason), reason);
  }
});

test('what JSON.stringify would change silently is refused', () => {
  for (const [value, reason] of [
    [Number.NaN, 'not_a_number'],
    [new Map([['a', 1]]), 'not_json'],
    [[undefined], 'not_json'],
    [() => 1, 'not_json'],
    [10n, 'not_json'],
    ['\uD800', 'not_unicode'],
    ['x'.repeat(262_144), 'too_large'],
  ] as const) {
    assert.throws(() => fingerprint(value), refusedFor(reason), reason);
  }
  assert.equal(canonicalJson({ b: undefined, a: new Date(0) }), '{"a":"1970-01-01T00:00:00.000Z"}');
});

test('the same identities have the same wire keys', () => {
  const all = vectors<{ wire_keys: (Record<string, string> & { generation: number; version: 8 | 4 })[] }>('wire-keys.json');
  assert.equal(all.wire_keys.length, 12);
  for (const vector of all.wire_keys) {
    const { secret = '', namespace = '', operation = '', key = '', step = '', account = '', region = '', route = '' } = vector;
    const identity = { namespace, operation, key, generation: vector.generation, step };
    assert.equal(wireKey(identity, secret, { account, region, route }, vector.version), vector.wire_key, vector.what);
  }
});

const manifestKeys = vectors<{
  keys: { operation: string; input: object; key: string }[];
  refused: { operation: string; change: object; reason: string }[];
}>('manifest-keys.json');

const OPERATIONS: Record<string, Operation<never, unknown>> = {
  archive_order: operations.archiveOrder,
  forget_order: operations.forgetOrder,
  collect_invoice: operations.collectInvoice,
  notify_customer: operations.notifyCustomer,
};

function keyOf(operation: string, input: object): string | undefined {
  return OPERATIONS[operation]?.key(input as never);
}

test('generated operations make the same keys', () => {
  assert.equal(manifestKeys.keys.length, 5);
  for (const { operation, input, key } of manifestKeys.keys) assert.equal(keyOf(operation, input), key);
});

test('values in another form are refused', () => {
  assert.equal(manifestKeys.refused.length, 19);
  for (const { operation, change, reason } of manifestKeys.refused) {
    const first = manifestKeys.keys.find((vector) => vector.operation === operation)?.input;
    assert.throws(() => keyOf(operation, { ...first, ...change }), refusedFor(reason), JSON.stringify(change));
  }
});

test('a wrong input is an error of the compiler', () => {
  const invoice: operations.CollectInvoiceInput = { invoice_id: 'inv_1', amount_cents: 1, currency: 'EUR' };
  assert.equal(operations.collectInvoice.key(invoice), 'invoice:inv_1:collect:v1');
  // @ts-expect-error: a currency that the type does not have
  const other: operations.CollectInvoiceInput = { invoice_id: 'inv_1', amount_cents: 1, currency: 'GBP' };
  // @ts-expect-error: the member that the key needs is missing
  assert.throws(() => operations.collectInvoice.key({ amount_cents: 1, currency: other.currency }), refusedFor('missing'));
  assert.equal(operations.archiveOrder.key({ orderId: 7 }), 'order:7:archive:v1');
});
