// What goes wrong, as types. No message holds a value of the caller's: inputs and keys are business data.

/** The server refused a request, or did not answer it. */
export class RatchetError extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 where there was no answer. */
    readonly status: number,
    /** What is wrong, in one word. */
    readonly code?: string,
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** The API key is unknown, or may not do this. */
export class AuthorizationError extends RatchetError {}
/** The request makes no sense to the server. */
export class ValidationError extends RatchetError {}
/** The key is taken by another input: this is another action, or the input changed. Nothing was enqueued. */
export class ConflictError extends RatchetError {}
/** The action ended so long ago that its record is purged. It will not run again under this key. */
export class ExpiredError extends RatchetError {}
/** The circuit of the endpoint is open. */
export class CircuitOpenError extends RatchetError {}
/** Too many requests. */
export class QuotaError extends RatchetError {}
/** No worker serves this operation, or the server is not ready. */
export class UnavailableWorkerError extends RatchetError {}
/** No answer came. Whether the request arrived is unknown; enqueuing and reporting again is safe. */
export class TransportError extends RatchetError {
  constructor(message: string, cause?: unknown) {
    super(message, 0);
    this.cause = cause;
  }
}

const BY_STATUS: ReadonlyMap<number, typeof RatchetError> = new Map<number, typeof RatchetError>([
  [400, ValidationError],
  [401, AuthorizationError],
  [403, AuthorizationError],
  [409, CircuitOpenError],
  [429, QuotaError],
  [503, UnavailableWorkerError],
]);

const BY_CODE: ReadonlyMap<string, typeof RatchetError> = new Map<string, typeof RatchetError>([
  ['IDEMPOTENCY_CONFLICT', ConflictError],
  ['IDEMPOTENCY_KEY_EXPIRED', ExpiredError],
]);

/** The error of a refused request. */
export function refusal(status: number, body: unknown): RatchetError {
  const said = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const message = typeof said.error === 'string' ? said.error : `the server answered ${status}`;
  const code = typeof said.code === 'string' ? said.code : undefined;
  const kind = BY_CODE.get(code ?? '') ?? BY_STATUS.get(status) ?? RatchetError;
  return new kind(message, status, code);
}

/** A value cannot be part of a key, or a key is refused. Nothing was sent. */
export class KeyError extends Error {
  constructor(
    message: string,
    /** Why, in one word, as `spec/key-language.md` calls it. */
    readonly reason: string,
  ) {
    super(message);
    this.name = 'KeyError';
  }
}

/** A value cannot be written as JSON that every reader reads back unchanged. Nothing was sent. */
export class InputError extends Error {
  constructor(
    message: string,
    /** Why, in one word, as `spec/fingerprints.json` calls it. */
    readonly reason: string,
  ) {
    super(message);
    this.name = 'InputError';
  }
}

/** Thrown by a handler: there is no automatic retry. Whether there was an effect counts as unknown. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
}

/** Thrown by a handler: to be retried with the same key, and not before `retryAfterMs`, if given (1 s to 24 h). */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryAfterMs?: number } = {}) {
    super(message);
    if (options.retryAfterMs !== undefined && !isRetryDelay(options.retryAfterMs)) {
      throw new RangeError('retryAfterMs is an integer of 1000 to 86400000');
    }
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether the protocol takes this as a retry hint. */
export function isRetryDelay(ms: unknown): ms is number {
  return Number.isInteger(ms) && (ms as number) >= 1000 && (ms as number) <= 86_400_000;
}
