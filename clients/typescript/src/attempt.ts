// One attempt: heartbeats while the handler runs, and a report of how it ended.

import { LARGEST_OUTPUT, canonicalJson, payload } from './canonical.js';
import { NonRetryableError, RetryableError, isRetryDelay } from './errors.js';
import { failureMessage } from './redact.js';
import { Stop } from './stop.js';
import type { Transport } from './transport.js';

/** A claimed job, as the protocol has it. */
export interface Job {
  readonly jobId: string;
  readonly runId: string;
  readonly stepId: string;
  readonly toolName: string;
  readonly toolVersion: string;
  readonly input: unknown;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly leaseToken: string;
}

/** What an attempt knows about itself. */
export interface Context {
  readonly runId: string;
  readonly stepId: string;
  readonly jobId: string;
  /** Which attempt this is, from 1; never part of a key. */
  readonly attempt: number;
  /** The same for every attempt: pass it to the destination. */
  readonly idempotencyKey: string;
  /** When the attempt has to have ended. */
  readonly deadline: Date;
  /** Aborts at the deadline, when the job is cancelled, and when another worker may have it. */
  readonly signal: AbortSignal;
}

/** What executes an operation. What it returns is the result; what it throws says that the effect is unknown. */
export type Handler<Input = unknown, Output = unknown> = (input: Input, context: Context) => Output | Promise<Output>;

/** Whether a failed attempt is followed by another one. */
export type RetryDecision = { retryable: false } | { retryable: true; retryAfterMs?: number };

export interface HandlerOptions<Input = unknown, Output = unknown> {
  /** Throws where the input does not fit; the attempt is not retried. */
  validateInput?(this: void, input: unknown): Input;
  /** Throws where the result does not fit; the attempt is not retried. */
  validateOutput?(this: void, output: unknown): Output;
  /** Decides about errors that are neither `RetryableError` nor `NonRetryableError`, which are retried otherwise. */
  classifyError?(this: void, error: unknown, context: Context): RetryDecision;
}

type Report =
  | { status: 'SUCCEEDED'; output: unknown }
  | ({ status: 'FAILED'; error: string } & RetryDecision);

/** A lease lasts for three heartbeats. What is left without an answer is given up before it is over. */
const BEATS_WITHOUT_ANSWER = 2.5;

/** One execution of a job. */
export class Attempt {
  readonly #abort = new AbortController();
  readonly #ended = new Stop();
  readonly #context: Context;

  constructor(
    private readonly transport: Transport,
    private readonly workerId: string,
    private readonly job: Job,
    private readonly onError: (error: unknown) => void,
  ) {
    const { runId, stepId, jobId, attempt, idempotencyKey, timeoutMs } = job;
    const deadline = new Date(Date.now() + timeoutMs);
    this.#context = { runId, stepId, jobId, attempt, idempotencyKey, deadline, signal: this.#abort.signal };
  }

  async run(handler: Handler, options: HandlerOptions): Promise<void> {
    const timer = setTimeout(() => this.#timeOut(), this.job.timeoutMs);
    const heartbeats = this.#heartbeats();
    const report = await this.#outcome(handler, options);
    clearTimeout(timer);
    this.#ended.now();
    await heartbeats;
    // The server takes the same report twice for one.
    await this.#post('report', report, true);
  }

  async #outcome(handler: Handler, options: HandlerOptions): Promise<Report> {
    try {
      const { validateInput, validateOutput } = options;
      const input = validateInput ? valid('input', validateInput, this.job.input) : this.job.input;
      const output = await handler(input, this.#context);
      return this.#succeeded(validateOutput ? valid('output', validateOutput, output) : output);
    } catch (error) {
      return { status: 'FAILED', error: failureMessage(error), ...this.#decide(error, options) };
    }
  }

  /** Whatever became of the deadline or the lease meanwhile: that the effect happened stays true. */
  #succeeded(output: unknown): Report {
    try {
      const text = payload(output ?? null, LARGEST_OUTPUT);
      return { status: 'SUCCEEDED', output: JSON.parse(text) as unknown };
    } catch (error) {
      // That the result cannot be kept changes nothing about it.
      this.onError(error);
      return { status: 'SUCCEEDED', output: null };
    }
  }

  #decide(error: unknown, { classifyError }: HandlerOptions): RetryDecision {
    if (this.#abort.signal.reason instanceof Cancelled || error instanceof NonRetryableError) {
      return { retryable: false };
    }
    if (error instanceof RetryableError) return retryAfter(error.retryAfterMs);
    try {
      const decision = classifyError?.(error, this.#context) ?? { retryable: true };
      if (!decision.retryable) return { retryable: false };
      if (decision.retryAfterMs === undefined || isRetryDelay(decision.retryAfterMs)) {
        return retryAfter(decision.retryAfterMs);
      }
      throw new RangeError('retryAfterMs is an integer of 1000 to 86400000');
    } catch (failure) {
      this.onError(failure);
      return { retryable: true };
    }
  }

  /** From here on, the server decides as about a worker that vanished, unless a report comes after all. */
  #timeOut(): void {
    this.#abort.abort(new DOMException('the attempt has run for as long as it may', 'TimeoutError'));
    this.#ended.now();
  }

  async #heartbeats(): Promise<void> {
    const interval = Math.min(10_000, Math.max(1000, this.job.timeoutMs / 3));
    const giveUp = () => this.#abort.abort(new Cancelled('the server is out of reach, and another worker may have the job'));
    let lease = setTimeout(giveUp, interval * BEATS_WITHOUT_ANSWER);
    try {
      for (;;) {
        await this.#ended.wait(interval);
        if (this.#ended.isStopped) return;
        const answer = await this.#beat();
        if (answer === undefined) continue;
        if (!answer.accepted || answer.cancelRequested) {
          const why = answer.accepted ? 'the job was cancelled' : 'another worker may have the job';
          this.#abort.abort(new Cancelled(why));
          return;
        }
        clearTimeout(lease);
        lease = setTimeout(giveUp, interval * BEATS_WITHOUT_ANSWER);
      }
    } finally {
      clearTimeout(lease);
    }
  }

  /** What the server says about the lease; nothing, where it cannot be reached. */
  async #beat(): Promise<Heartbeat | undefined> {
    try {
      return (await this.#post('heartbeat', {}, false)) as Heartbeat;
    } catch (error) {
      this.onError(error);
      return undefined;
    }
  }

  #post(what: 'heartbeat' | 'report', body: object, repeatable: boolean): Promise<unknown> {
    const { jobId, leaseToken } = this.job;
    const text = canonicalJson({ workerId: this.workerId, leaseToken, ...body });
    return this.transport.send({ method: 'POST', path: ['workers', 'jobs', jobId, what], body: text, repeatable });
  }
}

interface Heartbeat {
  readonly accepted: boolean;
  readonly cancelRequested: boolean;
}

/** Why the signal of an attempt aborts, other than by its deadline. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

function retryAfter(ms: number | undefined): RetryDecision {
  return ms === undefined ? { retryable: true } : { retryable: true, retryAfterMs: ms };
}

function valid<T>(what: string, check: (value: unknown) => T, value: unknown): T {
  try {
    return check(value);
  } catch (cause) {
    throw new NonRetryableError(`${what} validation failed`, { cause });
  }
}
