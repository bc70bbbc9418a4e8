// Against the real server, and with the published client of Python.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { AuthorizationError, ConflictError, Ratchet, type Context, type Step } from '../src/index.js';
import { collectInvoice, type CollectInvoiceInput } from './ratchet_operations.js';
import { PYTHON, Server, firstLine } from './real.js';

let server: Server;
let producer: Ratchet;
before(async () => {
  server = await Server.start();
  producer = server.as('producer');
});
after(() => (server as Server | undefined)?.stop());

function invoice(invoice_id: string, amount_cents = 14_396): CollectInvoiceInput {
  return { invoice_id, amount_cents, currency: 'EUR' };
}

/** Executes until the step has ended. */
async function executeUntilEnd(
  stepId: string,
  handler: (input: CollectInvoiceInput, context: Context) => Promise<{ charge_id: string }> | { charge_id: string },
): Promise<Step> {
  const worker = server.as('worker').worker({ pollIntervalMs: 20 }).handle(collectInvoice, handler);
  const running = worker.run();
  const step = await ended(stepId);
  worker.stop();
  await running;
  return step;
}

async function ended(stepId: string): Promise<Step> {
  for (;;) {
    const step = await producer.step(stepId);
    if (!['WAITING', 'PENDING', 'RUNNING'].includes(step.state)) return step;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const charge = ({ invoice_id }: CollectInvoiceInput) => ({ charge_id: `ch_${invoice_id}` });

test('an action is enqueued, executed, and told to whoever enqueues it again', async () => {
  const first = await collectInvoice.enqueue(producer, invoice('inv_1'));
  assert.deepEqual([first.answer, first.state], ['new', 'PENDING']);
  let key: string | undefined;
  const step = await executeUntilEnd(first.stepId, (input, context) => {
    key = context.idempotencyKey;
    return charge(input);
  });
  assert.deepEqual([step.state, step.output, step.attempts], ['SUCCEEDED', { charge_id: 'ch_inv_1' }, 1]);
  assert.equal(key, 'invoice:inv_1:collect:v1');

  const again = await collectInvoice.enqueue(producer, invoice('inv_1'));
  assert.deepEqual([again.answer, again.stepId, again.output?.charge_id], ['existing', first.stepId, 'ch_inv_1']);
  await assert.rejects(collectInvoice.enqueue(producer, invoice('inv_1', 1)), ConflictError);
});

test('every attempt gets the same key, and what may not be retried ends', async () => {
  const operator = server.as('operator');
  const quick = { preset: 'CUSTOM', maxAttempts: 5, initialDelayMs: 1000, multiplier: 1, maxDelayMs: 1000, jitterPercent: 0 };
  await operator.updateEndpointPolicy('quick', quick);
  const { stepId } = await collectInvoice.enqueue(producer, invoice('inv_2'), { endpoint: 'quick' });
  const keys: [number, string][] = [];
  const step = await executeUntilEnd(stepId, (input, context) => {
    keys.push([context.attempt, context.idempotencyKey]);
    if (context.attempt < 2) throw new Error('the bank did not answer');
    return charge(input);
  });
  assert.equal(step.state, 'SUCCEEDED');
  assert.deepEqual(keys, [[1, 'invoice:inv_2:collect:v1'], [2, 'invoice:inv_2:collect:v1']]);
});

test('a worker that dies between the effect and its report is followed by one with the same key', { timeout: 60_000 }, async () => {
  const options = { endpoint: 'quick', timeoutMs: 3000 };
  const { stepId } = await collectInvoice.enqueue(producer, invoice('inv_3'), options);
  const script = fileURLToPath(new URL('./dying_worker.js', import.meta.url));
  const child = spawn(process.execPath, [script, server.url, server.key('worker')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const charged = await firstLine(child);
  child.kill('SIGKILL');
  let second: Context | undefined;
  const step = await executeUntilEnd(stepId, (input, context) => {
    second = context;
    return charge(input);
  });
  assert.equal(step.state, 'SUCCEEDED');
  assert.equal(charged, 'charged under invoice:inv_3:collect:v1');
  assert.deepEqual([second?.attempt, second?.idempotencyKey], [2, 'invoice:inv_3:collect:v1']);
});

test('a job that is cancelled while it runs aborts its handler', { timeout: 30_000 }, async () => {
  const { stepId, jobId } = await collectInvoice.enqueue(producer, invoice('inv_4'), { timeoutMs: 3000 });
  const step = await executeUntilEnd(stepId, async (_, { signal }) => {
    await producer.cancelJob(jobId);
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    return { charge_id: '' };
  });
  assert.notEqual(step.state, 'SUCCEEDED');
  assert.equal(step.effectUnknown, true);
});

test('a fallback runs where the first choice failed, and a follow-up does not', async () => {
  const operation = { name: 'ship', version: '1' };
  await producer.startRun('shipping');
  const send = (idempotencyKey: string, more: object = {}) =>
    producer.enqueue({}, { ...operation, idempotencyKey, maxAttempts: 1, ...more });
  const { stepId } = await send('ship:1:first');
  const fallback = await send('ship:1:fallback', { after: { stepId, on: 'FAILED' } });
  const followUp = await send('ship:1:follow-up', { after: { stepId, on: 'SUCCEEDED' } });
  await producer.finishRun();
  const worker = server.as('worker').worker({ pollIntervalMs: 20 });
  worker.handle(operation, (_, { idempotencyKey }) => {
    if (idempotencyKey === 'ship:1:first') throw new Error('no truck');
    return idempotencyKey;
  });
  const running = worker.run();
  const states = await Promise.all([stepId, fallback.stepId, followUp.stepId].map(async (id) => (await ended(id)).state));
  worker.stop();
  await running;
  // What failed over the wire may have had its effect all the same.
  assert.deepEqual(states, ['UNCERTAIN', 'SUCCEEDED', 'SKIPPED']);
});

test('a key opens only what its scope says', async () => {
  await assert.rejects(collectInvoice.enqueue(server.as('worker'), invoice('inv_5')), AuthorizationError);
  const worker = server.as('producer').worker().handle(collectInvoice, charge);
  await assert.rejects(worker.run(), AuthorizationError);
  await assert.rejects(new Ratchet({ url: server.url, apiKey: 'ratchet_x' }).step('step_1'), AuthorizationError);
});

const PYTHON_SIDE = `
import sys
from getratchet import Ratchet
import ratchet_operations as operations
url, key, what = sys.argv[1:]
ratchet = Ratchet(url, key)
invoice = {"invoice_id": "inv_6", "amount_cents": 14396.0 if what == "enqueue" else 14396, "currency": "EUR"}
if what == "enqueue":
    ratchet.start_run("python")
    print(operations.collect_invoice.enqueue(ratchet, invoice)["stepId"])
else:
    def collect(input, context):
        ratchet.worker.stop()
        return {"charge_id": f"python {context.idempotency_key}"}
    operations.collect_invoice.register(ratchet, collect)
    ratchet.worker.start(concurrency=1, poll_interval_seconds=1)
    print("done")
`;

async function python(what: string, key: string): Promise<string> {
  const packages = fileURLToPath(new URL('../../../python', import.meta.url));
  const child = spawn(PYTHON, ['-c', PYTHON_SIDE, server.url, key, what], {
    env: { ...process.env, PYTHONPATH: `${packages}:${packages}/tests` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return firstLine(child);
}

test('TypeScript and Python enqueue one record, and Python executes it', { timeout: 60_000 }, async () => {
  const { stepId } = await collectInvoice.enqueue(producer, invoice('inv_6'));
  // The same key, and the same fingerprint for a number that Python writes otherwise.
  assert.equal(await python('enqueue', server.key('producer')), stepId);
  assert.equal(await python('execute', server.key('worker')), 'done');
  const step = await ended(stepId);
  assert.deepEqual([step.state, step.output], ['SUCCEEDED', { charge_id: 'python invoice:inv_6:collect:v1' }]);
});
