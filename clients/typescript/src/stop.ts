// A wait that ends early when it is told to.

import { setTimeout as wait } from 'node:timers/promises';

export class Stop {
  readonly #controller = new AbortController();

  get isStopped(): boolean {
    return this.#controller.signal.aborted;
  }

  now(): void {
    this.#controller.abort();
  }

  /** Resolves after this time, or at once when stopped. */
  async wait(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#controller.signal }).catch(() => {});
  }
}
