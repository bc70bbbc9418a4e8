// Requests to the server: `/api/v1`, JSON bodies, a bearer key.

import { setTimeout as wait } from 'node:timers/promises';

import { TransportError, refusal } from './errors.js';

/** Where the server is, and who asks. */
export interface ServerOptions {
  /** Such as `https://ratchet.example.com`; plain `http` on this machine only. */
  readonly url: string;
  readonly apiKey: string;
  /** How long one request may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/** One request. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Path segments, as they are. */
  readonly path: readonly string[];
  /** JSON text. */
  readonly body?: string;
  /** Whether the same request twice is as good as once. */
  readonly repeatable: boolean;
}

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** The waits between tries, in milliseconds. */
const WAITS = [250, 500];

export class Transport {
  readonly #base: string;
  readonly #apiKey: string;
  readonly #timeoutMs: number;

  constructor({ url, apiKey, timeoutMs = 15_000 }: ServerOptions) {
    const { protocol, hostname, href } = new URL(url);
    const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    if (protocol !== 'https:' && !(protocol === 'http:' && isLocal)) {
      throw new TypeError('the API key would travel in the clear: use an `https` address, or `http` on this machine');
    }
    if (!apiKey) throw new TypeError('an API key is needed: `ratchet keys create` makes one');
    this.#base = `${href.replace(/\/+$/, '')}/api/v1`;
    this.#apiKey = apiKey;
    this.#timeoutMs = timeoutMs;
  }

  /** The JSON of the answer; `undefined` where there is none. */
  async send(call: Call): Promise<unknown> {
    const waits = call.repeatable ? WAITS : [];
    for (let tried = 0; ; tried += 1) {
      const pause = waits[tried];
      try {
        const answer = await this.#fetch(call);
        const body = await json(answer);
        if (answer.ok) return body;
        if (pause === undefined || !RETRIED.has(answer.status)) throw refusal(answer.status, body);
      } catch (error) {
        if (pause === undefined || !(error instanceof TransportError)) throw error;
      }
      await wait(pause);
    }
  }

  async #fetch({ method, path, body }: Call): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#apiKey}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    try {
      return await fetch(`${this.#base}/${path.map(encodeURIComponent).join('/')}`, {
        method,
        headers,
        body: body ?? null,
        // A redirect would carry the key elsewhere, or make a GET of a POST.
        redirect: 'error',
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (cause) {
      throw new TransportError('the server did not answer', cause);
    }
  }
}

async function json(answer: Response): Promise<unknown> {
  let text: string;
  try {
    text = await answer.text();
  } catch (cause) {
    throw new TransportError('the answer of the server was cut off', cause);
  }
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (!answer.ok) return undefined;
    throw new TransportError('the answer of the server is no JSON', cause);
  }
}
