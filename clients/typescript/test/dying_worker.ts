// A worker that has its effect, says so, and never reports it: its parent kills it.

import { Ratchet } from '../src/index.js';
import { collectInvoice } from './ratchet_operations.js';

const [url = '', apiKey = ''] = process.argv.slice(2);
const worker = new Ratchet({ url, apiKey }).worker({ pollIntervalMs: 20 });
worker.handle(collectInvoice, (_, { idempotencyKey }) => {
  console.log(`charged under ${idempotencyKey}`);
  return new Promise(() => {});
});
await worker.run();
