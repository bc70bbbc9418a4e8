export {
  Ratchet,
  type Enqueued,
  type EnqueueOptions,
  type OperationId,
  type ServerOptions,
  type Settings,
  type Step,
} from './client.js';
export { Operation, type Declaration } from './operation.js';
export { Worker, type WorkerOptions } from './worker.js';
export { Cancelled, type Context, type Handler, type HandlerOptions, type RetryDecision } from './attempt.js';
export {
  AuthorizationError,
  CircuitOpenError,
  ConflictError,
  ExpiredError,
  InputError,
  KeyError,
  NonRetryableError,
  QuotaError,
  RatchetError,
  RetryableError,
  TransportError,
  UnavailableWorkerError,
  ValidationError,
} from './errors.js';
export { mark, renderKey, type Placeholder, type ValueForm } from './key.js';
export { canonicalJson, fingerprint } from './canonical.js';
export { wireKey, type Identity, type WireScope } from './wire_key.js';
