// The form of an identity for destinations that do not take it as it is: `spec/wire-keys.md`, recipe 2.

import { createHmac } from 'node:crypto';

/** What must have at most one effect. */
export interface Identity {
  readonly namespace: string;
  readonly operation: string;
  readonly key: string;
  /** 1 unless a new one was asked for. */
  readonly generation?: number;
  /** Empty outside of steps. */
  readonly step?: string;
}

/** What a destination does not keep apart by itself. */
export interface WireScope {
  readonly account?: string;
  readonly region?: string;
  readonly route?: string;
}

/** The UUID that stands for an identity. `version` is 4 for destinations that look at it. */
export function wireKey(
  identity: Identity,
  secret: string | Uint8Array,
  scope: WireScope = {},
  version: 8 | 4 = 8,
): string {
  if (Buffer.byteLength(secret) < 32) throw new RangeError('the secret of wire keys has at least 32 bytes');
  const { namespace, operation, key, generation = 1, step = '' } = identity;
  const { account = '', region = '', route = '' } = scope;
  const hmac = createHmac('sha256', secret);
  const parts = ['ratchet wire key 2', namespace, operation, key, String(generation), step, account, region, route];
  for (const part of parts) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hmac.update(length).update(bytes);
  }
  const uuid = hmac.digest().subarray(0, 16);
  uuid.writeUInt8((uuid.readUInt8(6) & 0x0f) | (version << 4), 6);
  uuid.writeUInt8((uuid.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuid.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
