// Inputs and results as canonical JSON (RFC 8785), and the fingerprint of an input: `spec/fingerprints.md`.

import { createHash } from 'node:crypto';

import { InputError } from './errors.js';

/** The most bytes of an input. */
export const LARGEST_INPUT = 256 * 1024;
/** The most bytes of a result. */
export const LARGEST_OUTPUT = 64 * 1024;
/** Each array, object and value inside one counts as a level. */
const DEEPEST = 64;

/**
 * The canonical JSON of a value: sorted names, no white space. Members that are `undefined` are left out, and `toJSON` is
 * called, as by `JSON.stringify`.
 *
 * Refuses what JSON cannot hold and `JSON.stringify` would change silently: `NaN`, functions, maps, sets.
 */
export function canonicalJson(value: unknown): string {
  return write(value, DEEPEST);
}

/**
 * The same for a value that becomes an input or a result. Also refuses integers beyond ±(2^53−1), which are rounded already,
 * and what has more than `limit` bytes.
 */
export function payload(value: unknown, limit: number = LARGEST_INPUT): string {
  const text = write(value, DEEPEST, requireExact);
  const bytes = Buffer.byteLength(text);
  if (bytes > limit) {
    throw new InputError(
      `the value has ${bytes} bytes of JSON, the limit is ${limit}: store it elsewhere and pass its id`,
      'too_large',
    );
  }
  return text;
}

/** The fingerprint of an input, as 64 hexadecimal digits. */
export function fingerprint(input: unknown): string {
  return createHash('sha256').update(payload(input)).digest('hex');
}

type NumberCheck = (value: number) => void;

function write(given: unknown, levels: number, check?: NumberCheck): string {
  const value = hasToJson(given) ? given.toJSON() : given;
  if (levels === 0) {
    throw new InputError(
      `the value is nested more than ${DEEPEST} levels deep: flatten it, or store it elsewhere and pass its id`,
      'too_deep',
    );
  }
  switch (typeof value) {
    case 'boolean':
      return String(value);
    case 'string':
      return writeString(value);
    case 'number':
      if (!Number.isFinite(value)) {
        throw new InputError('a number is NaN or infinite, which JSON cannot hold: use null', 'not_a_number');
      }
      check?.(value);
      // As ECMAScript prints it, which is what RFC 8785 asks for.
      return String(value);
    case 'object':
      break;
    default:
      throw new InputError(`a ${typeof value} cannot be written as JSON: send it as a string`, 'not_json');
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item: unknown) => write(item, levels - 1, check)).join(',')}]`;
  }
  return writeObject(value, levels, check);
}

function writeObject(value: object, levels: number, check?: NumberCheck): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new InputError('only plain objects and arrays are written as JSON: convert it first', 'not_json');
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // By UTF-16 code units.
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${writeString(name)}:${write(member, levels - 1, check)}`).join(',')}}`;
}

function writeString(text: string): string {
  if (!text.isWellFormed()) {
    throw new InputError('a string has half of a surrogate pair: send well-formed Unicode', 'not_unicode');
  }
  return JSON.stringify(text);
}

function requireExact(value: number): void {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new InputError(
      'an integer beyond ±(2^53−1) is rounded by readers of JSON: send it as a string',
      'integer_too_large',
    );
  }
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function';
}
