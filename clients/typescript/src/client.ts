// The producer: puts operations on record, and looks after them.

import { createHash } from 'node:crypto';

import { canonicalJson, payload } from './canonical.js';
import { Transport, type ServerOptions } from './transport.js';
import { Worker, type WorkerOptions } from './worker.js';

export type { ServerOptions };

/** The name and version of an operation. */
export interface OperationId {
  readonly name: string;
  readonly version: string;
}

/** What is enqueued, and how. */
export interface EnqueueOptions extends OperationId, Settings {
  /**
   * The identity of this one action, the same for every attempt at it. Without one, the server's protocol makes it of the
   * run and the input; then `startRun` or `useRun` has to be called, since another run makes another key.
   */
  readonly idempotencyKey?: string;
}

/** What can be said about one action beside its identity. */
export interface Settings {
  /** Whose policy and circuit count; the operation's name if left out. */
  readonly endpoint?: string;
  readonly contractVersion?: string;
  /** How long one attempt may run. */
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
  /** The step that it follows, and on which end of it. */
  readonly after?: { readonly stepId: string; readonly on: 'SUCCEEDED' | 'FAILED' };
}

/** What the server says about an enqueued action. */
export interface Enqueued<Output = unknown> {
  /**
   * `new`: it is on record now. `existing`: it was on record before, and is under way or has succeeded. `ended`: it was on
   * record before and ended otherwise, as `state` says; it will not run again by itself.
   */
  readonly answer: 'new' | 'existing' | 'ended';
  readonly stepId: string;
  readonly jobId: string;
  /** The run that enqueued it first; `null` where that was not over the wire. */
  readonly runId: string | null;
  /** Such as `PENDING`, `RUNNING`, `SUCCEEDED`, `FAILED`, `UNCERTAIN`. */
  readonly state: string;
  /** The version that it was enqueued for first. */
  readonly version: string;
  /** What it left, if it has succeeded and the API key may read it. */
  readonly output?: Output;
}

/** How a step stands. */
export interface Step<Output = unknown> {
  readonly stepId: string;
  readonly jobId: string;
  readonly runId: string | null;
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly attempts: number;
  /** Some attempt may have had its effect, and nobody has confirmed it. */
  readonly effectUnknown: boolean;
  /** Why the last attempt did not end well. */
  readonly error: string | null;
  readonly output?: Output;
}

/** The run that is started where a key needs none. */
const UNNAMED_RUN = 'typescript';

/** A server, as its producers and workers see it. */
export class Ratchet {
  readonly #transport: Transport;
  /** What the caller started or chose. */
  #run: string | undefined;
  #unnamedRun: Promise<string> | undefined;

  constructor(options: ServerOptions) {
    this.#transport = new Transport(options);
  }

  /** Starts a run, to which what is enqueued from now on belongs. */
  async startRun(name: string, place?: { projectId: string; environmentId: string }): Promise<string> {
    this.#run = await this.#newRun({ name, ...place });
    return this.#run;
  }

  /** What is enqueued from now on belongs to this run. */
  useRun(runId: string): void {
    this.#run = runId;
  }

  /** Ends the current run: what is enqueued afterwards belongs to another one. */
  async finishRun(status: 'SUCCEEDED' | 'FAILED' = 'SUCCEEDED'): Promise<void> {
    if (this.#run === undefined) throw new TypeError('there is no run: call startRun or useRun first');
    await this.send('PATCH', ['runs', this.#run], { status });
    this.#run = undefined;
  }

  /**
   * Puts an action on record. Enqueuing the same action again is safe, and tells what is on record.
   *
   * Throws a `ConflictError` where the key is taken by another input.
   */
  async enqueue<Output = unknown>(input: unknown, options: EnqueueOptions): Promise<Enqueued<Output>> {
    const text = payload(input);
    const { name, version, endpoint = name, idempotencyKey, ...rest } = options;
    const runId = await this.#runFor(idempotencyKey);
    const key = idempotencyKey ?? generatedKey(runId, options, text);
    const head = canonicalJson({ name, version, endpoint, idempotencyKey: key, ...rest });
    const answer = await this.#transport.send({
      method: 'POST',
      path: ['runs', runId, 'enqueue'],
      // The input as it was checked.
      body: `${head.slice(0, -1)},"input":${text}}`,
      repeatable: true,
    });
    return { ...(answer as Enqueued<Output>), answer: kindOf(answer as Created) };
  }

  /** How a step stands, and what it left. */
  async step<Output = unknown>(stepId: string): Promise<Step<Output>> {
    return (await this.send('GET', ['steps', stepId])) as Step<Output>;
  }

  /** Declares a tool's contract. */
  publishTool(contract: object): Promise<unknown> {
    return this.send('POST', ['tools'], contract);
  }

  /** The policy of an endpoint. */
  endpointPolicy(endpoint: string): Promise<unknown> {
    return this.send('GET', ['endpoints', endpoint, 'policy']);
  }

  /** Changes the policy of an endpoint, for what is enqueued from now on. */
  updateEndpointPolicy(endpoint: string, policy: object): Promise<unknown> {
    return this.send('PUT', ['endpoints', endpoint, 'policy'], policy);
  }

  /** What a replay of this step would risk. */
  replayPreview(stepId: string): Promise<unknown> {
    return this.send('GET', ['steps', stepId, 'replay']);
  }

  /** Runs the same record again, under the same key. The effect may happen twice where its destination forgot the key. */
  replay(stepId: string, options: { reason: string; maxAttempts?: number }): Promise<unknown> {
    const { reason, maxAttempts = 1 } = options;
    return this.send('POST', ['steps', stepId, 'replay'], { acknowledgeDuplicateRisk: true, maxAttempts, reason });
  }

  /** Starts nothing more of this job. It is not a rollback. */
  cancelJob(jobId: string): Promise<unknown> {
    return this.send('POST', ['jobs', jobId, 'cancel'], {});
  }

  /** A worker, which executes what it gets handlers for. */
  worker(options: WorkerOptions = {}): Worker {
    return new Worker(this.#transport, options);
  }

  /** Any call of the protocol. */
  private send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: readonly string[],
    body?: object,
  ): Promise<unknown> {
    const text = body && canonicalJson(body);
    return this.#transport.send({ method, path, repeatable: method === 'GET', ...(text && { body: text }) });
  }

  async #newRun(body: object): Promise<string> {
    const answer = (await this.send('POST', ['runs'], body)) as { run: { id: string } };
    return answer.run.id;
  }

  async #runFor(idempotencyKey: string | undefined): Promise<string> {
    if (this.#run !== undefined) return this.#run;
    if (idempotencyKey === undefined) {
      throw new TypeError(
        'without an idempotencyKey the key is made of the run, so that a new run would act again: give a key, ' +
          'or call startRun or useRun first',
      );
    }
    // An explicit key does not depend on the run.
    this.#unnamedRun ??= this.#newRun({ name: UNNAMED_RUN });
    try {
      return await this.#unnamedRun;
    } catch (error) {
      this.#unnamedRun = undefined;
      throw error;
    }
  }
}

function generatedKey(runId: string, options: EnqueueOptions, input: string): string {
  const { name, version, contractVersion = null, endpoint = name, after = null } = options;
  const parts = canonicalJson([runId, name, version, contractVersion, endpoint, after]);
  return createHash('sha256').update(`${parts.slice(0, -1)},${input}]`).digest('hex');
}

interface Created {
  readonly created: boolean;
  readonly state: string;
}

/** The states of what is under way or has succeeded. */
const ACCEPTED: ReadonlySet<string> = new Set(['WAITING', 'PENDING', 'RUNNING', 'SUCCEEDED']);

function kindOf({ created, state }: Created): Enqueued['answer'] {
  if (created) return 'new';
  return ACCEPTED.has(state) ? 'existing' : 'ended';
}
