// The worker: claims jobs of the operations that it has handlers for, and executes them.

import { randomUUID } from 'node:crypto';

import { Attempt, type Handler, type HandlerOptions, type Job } from './attempt.js';
import { canonicalJson } from './canonical.js';
import type { OperationId } from './client.js';
import { RatchetError } from './errors.js';
import type { Operation } from './operation.js';
import { Stop } from './stop.js';
import type { Transport } from './transport.js';

export interface WorkerOptions {
  /** How many attempts run at once, 1 to 32. */
  readonly concurrency?: number;
  /** How long to wait after an empty claim, in milliseconds. */
  readonly pollIntervalMs?: number;
  /** Is told what went wrong beside the handlers, such as a server that does not answer. */
  readonly onError?: (error: unknown) => void;
}

/** Executes operations, at least once each. */
export class Worker {
  readonly id = `worker-${randomUUID()}`;
  readonly #transport: Transport;
  readonly #concurrency: number;
  readonly #pollIntervalMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #handlers = new Map<string, { operation: OperationId; handler: Handler; options: HandlerOptions }>();
  readonly #stop = new Stop();
  #running = false;

  /** Made by `ratchet.worker()`. */
  constructor(transport: Transport, options: WorkerOptions) {
    const { concurrency = 4, pollIntervalMs = 1000, onError = () => {} } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 32) {
      throw new RangeError('concurrency is an integer of 1 to 32');
    }
    if (!(pollIntervalMs >= 10 && pollIntervalMs <= 60_000)) {
      throw new RangeError('pollIntervalMs is 10 to 60000');
    }
    this.#transport = transport;
    this.#concurrency = concurrency;
    this.#pollIntervalMs = pollIntervalMs;
    this.#onError = (error) => {
      try {
        onError(error);
      } catch {
        // Whoever watches does not stop the work.
      }
    };
  }

  /** Executes this operation. A job of another version is never given to it. */
  handle<Input, Output>(
    operation: Operation<Input, Output>,
    handler: Handler<Input, Output>,
    options?: HandlerOptions<Input, Output>,
  ): this;
  handle<Input = unknown, Output = unknown>(
    operation: OperationId,
    handler: Handler<Input, Output>,
    options?: HandlerOptions<Input, Output>,
  ): this;
  handle(operation: OperationId, handler: Handler<never>, options: HandlerOptions<never> = {}): this {
    if (this.#running) throw new TypeError('handlers are given before the worker runs');
    const name = nameOf(operation);
    if (this.#handlers.has(name)) throw new TypeError(`there is a handler for ${name} already`);
    // The server hands over what was enqueued for this name and version.
    this.#handlers.set(name, { operation, handler: handler as Handler, options: options as HandlerOptions });
    return this;
  }

  /** Claims and executes until `stop` is called, or `signal` aborts; ends when the attempts under way have ended. */
  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#running) throw new TypeError('the worker runs already');
    if (this.#handlers.size === 0) throw new TypeError('a worker needs a handler');
    this.#running = true;
    const stop = () => this.stop();
    options.signal?.addEventListener('abort', stop, { once: true });
    if (options.signal?.aborted) stop();
    const active = new Set<Promise<void>>();
    try {
      await this.#register();
      await this.#claimUntilStopped(active);
    } finally {
      await Promise.all(active);
      options.signal?.removeEventListener('abort', stop);
      this.#running = false;
    }
  }

  /** Claims nothing more. What is under way ends. */
  stop(): void {
    this.#stop.now();
  }

  async #claimUntilStopped(active: Set<Promise<void>>): Promise<void> {
    while (!this.#stop.isStopped) {
      if (active.size >= this.#concurrency) {
        await Promise.race(active);
        continue;
      }
      const job = await this.#claim();
      if (job === undefined) {
        await this.#stop.wait(this.#pollIntervalMs);
        continue;
      }
      const attempt = this.#execute(job).finally(() => active.delete(attempt));
      active.add(attempt);
    }
  }

  /** A job, or `undefined` where there is none to do. */
  async #claim(): Promise<Job | undefined> {
    try {
      const answer = (await this.#post(['workers', 'claim'], { workerId: this.id })) as { job: Job } | undefined;
      return answer?.job;
    } catch (error) {
      this.#onError(error);
      // A server that lost its list of workers is told again.
      if (error instanceof RatchetError && error.status === 404) await this.#register().catch(this.#onError);
      return undefined;
    }
  }

  async #execute(job: Job): Promise<void> {
    const found = this.#handlers.get(nameOf({ name: job.toolName, version: job.toolVersion }));
    // The lease expires, and a worker that has it takes it: a version is never substituted.
    if (found === undefined) return;
    try {
      await new Attempt(this.#transport, this.id, job, this.#onError).run(found.handler, found.options);
    } catch (error) {
      this.#onError(error);
    }
  }

  async #register(): Promise<void> {
    const handlers = Array.from(this.#handlers.values(), ({ operation: { name, version } }) => ({ name, version }));
    await this.#post(['workers', 'register'], { workerId: this.id, capacity: this.#concurrency, handlers });
  }

  #post(path: readonly string[], body: object): Promise<unknown> {
    // A claim whose answer is lost leaves a lease that expires; a repeated one would leave two.
    const repeatable = path.at(-1) === 'register';
    return this.#transport.send({ method: 'POST', path, body: canonicalJson(body), repeatable });
  }
}

function nameOf({ name, version }: OperationId): string {
  return `${name}@${version}`;
}
