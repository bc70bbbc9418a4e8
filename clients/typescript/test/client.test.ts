import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import {
  AuthorizationError,
  CircuitOpenError,
  ConflictError,
  ExpiredError,
  InputError,
  QuotaError,
  Ratchet,
  RatchetError,
  TransportError,
  UnavailableWorkerError,
  ValidationError,
} from '../src/index.js';
import { collectInvoice } from './ratchet_operations.js';
import { scripted, type Answer, type Asked } from './scripted.js';

const ENQUEUED = { stepId: 'step_1', jobId: 'job_1', runId: 'run_1', created: true, state: 'PENDING', version: '1' };
const INVOICE = { name: 'collect_invoice', version: '1', idempotencyKey: 'invoice:inv_2048:collect:v1' };

async function withServer(
  answer: (asked: Asked, nth: number) => Answer,
  use: (ratchet: Ratchet, asked: Asked[]) => Promise<void>,
): Promise<void> {
  const server = await scripted(answer);
  try {
    await use(new Ratchet({ url: server.url, apiKey: 'key_1' }), server.asked);
  } finally {
    await server.close();
  }
}

function usual({ path }: Asked): Answer {
  return path === '/api/v1/runs' ? [201, { run: { id: 'run_1' } }] : [201, ENQUEUED];
}

test('the documented call sends the input, the operation and the key', async () => {
  await withServer(usual, async (ratchet, asked) => {
    const answer = await ratchet.enqueue({ invoiceId: 'inv_2048' }, INVOICE);
    assert.deepEqual([answer.answer, answer.stepId, answer.runId], ['new', 'step_1', 'run_1']);
    assert.deepEqual(asked[1], {
      method: 'POST',
      path: '/api/v1/runs/run_1/enqueue',
      key: 'Bearer key_1',
      body: { ...INVOICE, endpoint: 'collect_invoice', input: { invoiceId: 'inv_2048' } },
    });
    // One run for all that has a key of its own.
    await ratchet.enqueue({ invoiceId: 'inv_2048' }, INVOICE);
    assert.equal(asked.filter(({ path }) => path === '/api/v1/runs').length, 1);
  });
});

test('everything that can be said about an action is sent', async () => {
  await withServer(usual, async (ratchet, asked) => {
    await ratchet.startRun('nightly', { projectId: 'p', environmentId: 'e' });
    const after = { stepId: 'step_0', on: 'FAILED' } as const;
    const settings = { endpoint: 'bank', contractVersion: '2', timeoutMs: 5000, maxAttempts: 2, after };
    await ratchet.enqueue([1.5], { ...INVOICE, ...settings });
    await ratchet.finishRun();
    await assert.rejects(ratchet.finishRun(), /no run/);
    assert.deepEqual(asked.map(({ body }) => body as unknown), [
      { name: 'nightly', projectId: 'p', environmentId: 'e' },
      { ...INVOICE, ...settings, input: [1.5] },
      { status: 'SUCCEEDED' },
    ]);
  });
});

test('without a key, the key is made of the run and the input', async () => {
  await withServer(usual, async (ratchet, asked) => {
    await assert.rejects(ratchet.enqueue({}, { name: 'a', version: '1' }), /without an idempotencyKey/);
    assert.equal(asked.length, 0);
    ratchet.useRun('run_7');
    await ratchet.enqueue({ b: 'é', a: 1 }, { name: 'a', version: '1', after: { stepId: 's', on: 'SUCCEEDED' } });
    const text = '["run_7","a","1",null,"a",{"on":"SUCCEEDED","stepId":"s"},{"a":1,"b":"é"}]';
    assert.equal(asked[0]?.body.idempotencyKey, createHash('sha256').update(text).digest('hex'));
  });
});

test('a generated operation enqueues under the key of its template', async () => {
  await withServer(usual, async (ratchet, asked) => {
    await collectInvoice.enqueue(ratchet, { invoice_id: 'a/b', amount_cents: 5, currency: 'EUR' });
    assert.equal(asked[1]?.body.idempotencyKey, 'invoice:a%2Fb:collect:v1');
  });
});

test('an action that is on record says so', async () => {
  for (const [state, expected] of [
    ['RUNNING', 'existing'],
    ['SUCCEEDED', 'existing'],
    ['FAILED', 'ended'],
    ['UNCERTAIN', 'ended'],
    ['A_STATE_OF_A_LATER_SERVER', 'ended'],
  ]) {
    const existing = { ...ENQUEUED, created: false, state, output: { charge_id: 'ch_1' } };
    await withServer((asked) => (asked.path === '/api/v1/runs' ? usual(asked) : [200, existing]), async (ratchet) => {
      const { answer, output, ...rest } = await ratchet.enqueue<{ charge_id: string }>({}, INVOICE);
      assert.deepEqual([answer, rest.state, output?.charge_id], [expected, state, 'ch_1']);
    });
  }
});

test('each refusal is an error of its own', async () => {
  const classes: [number, typeof RatchetError][] = [
    [400, ValidationError],
    [401, AuthorizationError],
    [403, AuthorizationError],
    [404, RatchetError],
    [409, CircuitOpenError],
    [422, RatchetError],
    [429, QuotaError],
    [503, UnavailableWorkerError],
  ];
  for (const [status, expected] of classes) {
    await withServer(() => [status, { error: 'said', code: 'WHY' }], async (ratchet) => {
      const error = await ratchet.cancelJob('j').then(() => assert.fail(), (error: RatchetError) => error);
      assert.equal(error.constructor, expected);
      assert.deepEqual([error.message, error.status, error.code], ['said', status, 'WHY']);
    });
  }
  // What a proxy says is no JSON of ours.
  await withServer(() => [502, 'gateway'], async (ratchet) => {
    await assert.rejects(ratchet.cancelJob('j'), { name: 'RatchetError', status: 502, message: 'the server answered 502' });
  });
});

test('a conflict and an expired key are told apart from every other refusal', async () => {
  for (const [code, expected] of [['IDEMPOTENCY_CONFLICT', ConflictError], ['IDEMPOTENCY_KEY_EXPIRED', ExpiredError]] as const) {
    const refused: Answer = [422, { error: 'why', code }];
    await withServer((asked) => (asked.path === '/api/v1/runs' ? usual(asked) : refused), async (ratchet, asked) => {
      await assert.rejects(ratchet.enqueue({}, INVOICE), expected);
      assert.equal(asked.length, 2);
    });
  }
});

test('enqueuing is tried again where the answer may have been lost, and a cancel is not', async () => {
  await withServer(
    (asked, nth) => (nth === 1 ? usual(asked) : nth === 2 ? 'cut' : nth === 3 ? [503, {}] : usual(asked)),
    async (ratchet, asked) => {
      assert.equal((await ratchet.enqueue({}, INVOICE)).stepId, 'step_1');
      const bodies = asked.slice(1).map(({ body }) => JSON.stringify(body));
      assert.equal(bodies.length, 3);
      assert.equal(new Set(bodies).size, 1);
    },
  );
  await withServer(() => 'cut', async (ratchet, asked) => {
    await assert.rejects(ratchet.cancelJob('j'), TransportError);
    assert.equal(asked.length, 1);
  });
});

test('what no reader would read back is refused before anything is sent', async () => {
  await withServer(usual, async (ratchet, asked) => {
    await assert.rejects(ratchet.enqueue({ id: 2 ** 60 }, INVOICE), InputError);
    assert.equal(asked.length, 0);
  });
});

test('the key does not travel in the clear, and a path cannot lead elsewhere', async () => {
  for (const url of ['http://example.com', 'http://localhost.example.com', 'ftp://localhost', 'http://127.0.0.1.nip.io']) {
    assert.throws(() => new Ratchet({ url, apiKey: 'k' }), TypeError, url);
  }
  assert.throws(() => new Ratchet({ url: 'https://example.com', apiKey: '' }), TypeError);
  await withServer(() => [307, {}, { location: '/elsewhere' }], async (ratchet, asked) => {
    await assert.rejects(ratchet.cancelJob('j'), TransportError);
    assert.equal(asked.length, 1);
  });
  await withServer(() => [200, {}], async (ratchet, asked) => {
    await ratchet.replayPreview('../../admin?x=1');
    assert.equal(asked[0]?.path, '/api/v1/steps/..%2F..%2Fadmin%3Fx%3D1/replay');
  });
});
