// An operation as its manifest declares it. `ratchet generate typescript` writes one for each.

import type { Enqueued, OperationId, Ratchet, Settings } from './client.js';
import { renderKey, type Placeholder } from './key.js';

/** What a manifest says about an operation. */
export interface Declaration extends OperationId {
  /** The key template. */
  readonly key: string;
  /** The values of its placeholders, in order. */
  readonly placeholders: readonly Placeholder[];
}

/** An operation: its key comes from its template, so nobody spells one. */
export class Operation<Input, Output> implements OperationId {
  readonly name: string;
  readonly version: string;
  readonly #declared: Declaration;

  constructor(declared: Declaration) {
    this.name = declared.name;
    this.version = declared.version;
    this.#declared = declared;
  }

  /** The key of an input, the same bytes as in Rust. */
  key(input: Input): string {
    return renderKey(this.#declared.key, input, this.#declared.placeholders);
  }

  /** Puts the action on record. Enqueuing it again is safe, and tells what is on record. */
  enqueue(ratchet: Ratchet, input: Input, settings: Settings = {}): Promise<Enqueued<Output>> {
    const { name, version } = this;
    return ratchet.enqueue<Output>(input, { ...settings, name, version, idempotencyKey: this.key(input) });
  }
}
