import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cancelled, NonRetryableError, Ratchet, RetryableError, type Context, type Handler, type HandlerOptions } from '../src/index.js';
import { collectInvoice } from './ratchet_operations.js';
import { scripted, type Answer, type Asked } from './scripted.js';

const JOB = {
  jobId: 'job_1',
  runId: 'run_1',
  stepId: 'step_1',
  toolName: 'collect_invoice',
  toolVersion: '1',
  input: { invoice_id: 'inv_2048' },
  attempt: 2,
  idempotencyKey: 'invoice:inv_2048:collect:v1',
  timeoutMs: 3000,
  leaseToken: 'lease_1',
};

interface Ran {
  readonly asked: Asked[];
  readonly errors: unknown[];
  /** What was reported, without the names of worker and lease. */
  readonly report: Record<string, unknown> | undefined;
}

/** Has a worker execute one job, and stops it with the report. */
async function runOne(
  handler: Handler<any>,
  { job = JOB, options, answer }: { job?: object; options?: HandlerOptions<any, any>; answer?: (asked: Asked) => Answer | undefined } = {},
): Promise<Ran> {
  const errors: unknown[] = [];
  let given = false;
  const server = await scripted((asked) => {
    const answered = answer?.(asked);
    if (answered !== undefined) return answered;
    if (asked.path.endsWith('/claim')) {
      if (given) return [204];
      given = true;
      return [200, { job }];
    }
    if (asked.path.endsWith('/report')) worker.stop();
    return [200, { accepted: true, cancelRequested: false }];
  });
  const ratchet = new Ratchet({ url: server.url, apiKey: 'key_w' });
  const worker = ratchet.worker({ pollIntervalMs: 10, onError: (error) => errors.push(error) });
  worker.handle({ name: 'collect_invoice', version: '1' }, handler, options);
  try {
    await worker.run();
  } finally {
    await server.close();
  }
  const reported = server.asked.filter(({ path }) => path.endsWith('/report')).at(-1);
  if (reported === undefined) return { asked: server.asked, errors, report: undefined };
  const { workerId, leaseToken, ...report } = reported.body as Record<string, unknown>;
  assert.deepEqual([workerId, leaseToken, reported.path], [worker.id, 'lease_1', '/api/v1/workers/jobs/job_1/report']);
  return { asked: server.asked, errors, report };
}

test('a worker registers, claims, executes and reports', async () => {
  let seen: Context | undefined;
  const { asked, report, errors } = await runOne((input, context) => {
    seen = context;
    return { charge_id: `ch_${input.invoice_id}` };
  });
  assert.deepEqual(report, { status: 'SUCCEEDED', output: { charge_id: 'ch_inv_2048' } });
  assert.equal(asked[0]?.path, '/api/v1/workers/register');
  assert.deepEqual(asked[0]?.body.handlers, [{ name: 'collect_invoice', version: '1' }]);
  assert.equal(asked[0]?.body.capacity, 4);
  assert.equal(seen?.idempotencyKey, 'invoice:inv_2048:collect:v1');
  assert.deepEqual([seen?.attempt, seen?.runId, seen?.stepId, seen?.jobId], [2, 'run_1', 'step_1', 'job_1']);
  assert.ok(seen && seen.deadline.getTime() > Date.now());
  assert.deepEqual(errors, []);
});

test('what a handler throws says whether there is another attempt', async () => {
  const fail = (error: unknown) => () => Promise.reject(error);
  const classify = { classifyError: () => ({ retryable: true, retryAfterMs: 2000 }) as const };
  const cases: [Handler<any>, HandlerOptions | undefined, object][] = [
    [fail(new Error('bank: 500')), undefined, { error: 'bank: 500', retryable: true }],
    [fail(new NonRetryableError('no such invoice')), undefined, { error: 'no such invoice', retryable: false }],
    [fail(new RetryableError('later', { retryAfterMs: 1500 })), undefined, { error: 'later', retryable: true, retryAfterMs: 1500 }],
    [fail(new Error('429')), classify, { error: '429', retryable: true, retryAfterMs: 2000 }],
    [fail(new Error('400')), { classifyError: () => ({ retryable: false }) }, { error: '400', retryable: false }],
    [fail({ secret: 'x' }), undefined, { error: 'the handler failed', retryable: true }],
    [
      fail(new Error('Bearer abc for a.b@example.com, api_key=123\nat line 2')),
      undefined,
      { error: 'Bearer [REDACTED] for [REDACTED EMAIL], api_key=[REDACTED]', retryable: true },
    ],
  ];
  for (const [handler, options, expected] of cases) {
    const { report } = await runOne(handler, options ? { options } : {});
    assert.deepEqual(report, { status: 'FAILED', ...expected });
  }
});

test('inputs and results that do not fit are not retried', async () => {
  const refuse = () => {
    throw new Error('secret detail');
  };
  let entered = false;
  const enter = () => {
    entered = true;
  };
  const input = await runOne(enter, { options: { validateInput: refuse } });
  assert.deepEqual(input.report, { status: 'FAILED', error: 'input validation failed', retryable: false });
  assert.equal(entered, false);
  const output = await runOne(enter, { options: { validateOutput: refuse } });
  assert.deepEqual(output.report, { status: 'FAILED', error: 'output validation failed', retryable: false });
});

test('a classifier that fails is told to the program, and the job is retried', async () => {
  const options = { classifyError: () => ({ retryable: true, retryAfterMs: 5 }) as const };
  const { report, errors } = await runOne(() => Promise.reject(new Error('x')), { options });
  assert.deepEqual(report, { status: 'FAILED', error: 'x', retryable: true });
  assert.equal(errors.length, 1);
});

test('a result that cannot be kept does not undo the effect', async () => {
  const { report, errors } = await runOne(() => 'x'.repeat(70_000));
  assert.deepEqual(report, { status: 'SUCCEEDED', output: null });
  assert.equal(errors.length, 1);
});

test('a refused heartbeat and a cancelled job abort the handler', { timeout: 10_000 }, async () => {
  for (const [accepted, cancelRequested] of [[false, false], [true, true]] as const) {
    const heartbeat = ({ path }: Asked): Answer | undefined =>
      path.endsWith('/heartbeat') ? [200, { accepted, cancelRequested }] : undefined;
    const { report, asked } = await runOne(untilAborted, { answer: heartbeat });
    assert.equal(report?.status, 'FAILED');
    assert.equal(report?.retryable, false);
    const beat = asked.find(({ path }) => path.endsWith('/heartbeat'));
    assert.equal(beat?.path, '/api/v1/workers/jobs/job_1/heartbeat');
    assert.equal(beat?.body.leaseToken, 'lease_1');
  }
});

test('a server that answers no heartbeat for a lease aborts the handler', { timeout: 20_000 }, async () => {
  const unreachable = ({ path }: Asked): Answer | undefined => (path.endsWith('/heartbeat') ? 'cut' : undefined);
  const { report, errors } = await runOne(untilAborted, { answer: unreachable });
  assert.match(String(report?.error), /out of reach/);
  assert.equal(errors.length, 2);
});

test('an attempt is aborted at its deadline, and what it did by then is reported as it was', { timeout: 10_000 }, async () => {
  const job = { ...JOB, timeoutMs: 50 };
  const late = await runOne(untilAborted, { job });
  assert.deepEqual(late.report, { status: 'FAILED', error: 'the attempt has run for as long as it may', retryable: true });
  const done = await runOne((_, context) => untilAborted(_, context).catch(() => 'charged all the same'), { job });
  assert.deepEqual(done.report, { status: 'SUCCEEDED', output: 'charged all the same' });
});

test('a report whose answer is lost is sent again', { timeout: 10_000 }, async () => {
  let cut = false;
  const { asked, report } = await runOne(() => 1, {
    answer: ({ path }) => {
      if (cut || !path.endsWith('/report')) return undefined;
      cut = true;
      return 'cut';
    },
  });
  assert.equal(asked.filter(({ path }) => path.endsWith('/report')).length, 2);
  assert.deepEqual(report, { status: 'SUCCEEDED', output: 1 });
});

test('a job of another version is left alone', async () => {
  let entered = false;
  let claims = 0;
  const server = await scripted(({ path }) => {
    if (!path.endsWith('/claim')) return [200, {}];
    claims += 1;
    if (claims > 1) worker.stop();
    return claims === 1 ? [200, { job: { ...JOB, toolVersion: '2' } }] : [204];
  });
  const worker = new Ratchet({ url: server.url, apiKey: 'k' }).worker({ pollIntervalMs: 10 });
  worker.handle(collectInvoice, ({ invoice_id }, context) => {
    entered = true;
    return { charge_id: `${invoice_id} ${context.attempt}` };
  });
  await worker.run();
  await server.close();
  assert.equal(entered, false);
  assert.equal(server.asked.some(({ path }) => path.endsWith('/report')), false);
});

test('a worker that the server does not know any more registers again', async () => {
  let forgotten = false;
  const { asked, report } = await runOne(() => 1, {
    answer: ({ path }) => {
      if (forgotten || !path.endsWith('/claim')) return undefined;
      forgotten = true;
      return [404, { error: 'no such worker', code: 'NOT_FOUND' }];
    },
  });
  assert.equal(asked.filter(({ path }) => path.endsWith('/register')).length, 2);
  assert.equal(report?.status, 'SUCCEEDED');
});

test('at most so many attempts run at once, and those under way end before the worker does', async () => {
  let now = 0;
  let most = 0;
  let claimed = 0;
  let reported = 0;
  const waiting: (() => void)[] = [];
  const server = await scripted(({ path }) => {
    if (path.endsWith('/report')) {
      reported += 1;
      if (reported === 6) worker.stop();
    }
    if (!path.endsWith('/claim')) return [200, { accepted: true }];
    claimed += 1;
    return claimed <= 6 ? [200, { job: { ...JOB, jobId: `job_${claimed}` } }] : [204];
  });
  const worker = new Ratchet({ url: server.url, apiKey: 'k' }).worker({ concurrency: 2, pollIntervalMs: 10 });
  worker.handle({ name: 'collect_invoice', version: '1' }, async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 2) void release();
    });
    now -= 1;
  });
  /** Lets those who wait go on, after a time in which a worker would have claimed more. */
  async function release(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await fetch(`${server.url}/turn`);
    for (const resolve of waiting.splice(0)) resolve();
  }
  await worker.run();
  await server.close();
  assert.deepEqual([most, reported, now], [2, 6, 0]);
});

test('a worker is put together in one way', async () => {
  const ratchet = new Ratchet({ url: 'http://127.0.0.1:1', apiKey: 'k' });
  assert.throws(() => ratchet.worker({ concurrency: 33 }), RangeError);
  assert.throws(() => ratchet.worker({ pollIntervalMs: 1 }), RangeError);
  const worker = ratchet.worker().handle(collectInvoice, () => ({ charge_id: 'c' }));
  assert.throws(() => worker.handle(collectInvoice, () => ({ charge_id: 'c' })), /already/);
  await assert.rejects(ratchet.worker().run(), /needs a handler/);
  assert.throws(() => new RetryableError('x', { retryAfterMs: 999 }), RangeError);
});

async function untilAborted(_: unknown, { signal }: Context): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      assert.ok(signal.reason instanceof Cancelled || signal.reason instanceof DOMException);
      reject(signal.reason as Error);
    });
  });
}
