// Rendering of keys: `spec/key-language.md`. The same values give the same bytes as in Rust, SQL and Python.

import { KeyError } from './errors.js';
import { pieces } from './template.js';

/** How JSON writes the values of a placeholder, as a manifest says it. */
export type ValueForm =
  | { readonly form: 'text' | 'character' | 'boolean' | 'uuid' | 'date' | 'opaque' }
  | { readonly form: 'integer'; readonly least: number; readonly most: number }
  | { readonly form: 'names'; readonly names: Readonly<Record<string, string>> };

/** Where the JSON of an input has the value of a placeholder, and in which form. */
export type Placeholder = ValueForm & { readonly path: readonly string[] };

const LONGEST = 255;

/**
 * The key of an input.
 *
 * With `placeholders`, one for each of the template's in order, a value in another form than the code's is refused. Without
 * them, the template says where a value is, and any string, integer and boolean will do.
 */
export function renderKey(template: string, input: unknown, placeholders?: readonly Placeholder[]): string {
  if (placeholders === undefined) return render(template, (path) => ({ value: valueAt(input, path.split('.')) }));
  return render(template, (_, nth) => {
    const form = placeholders[nth];
    return form && { value: valueAt(input, form.path), form };
  });
}

/** The same, with a function that gives the value of a placeholder by its path in the template, or by its number. */
export function render(
  template: string,
  valueOf: (path: string, nth: number) => { value: unknown; form?: ValueForm } | undefined,
): string {
  let key = '';
  let nth = 0;
  for (const piece of pieces(template)) {
    if ('literal' in piece) {
      key += piece.literal;
      continue;
    }
    const subject = `the value of \`<${piece.path}>\``;
    const { value, form } = valueOf(piece.path, nth) ?? { value: undefined };
    const text = form ? textInForm(value, form, subject) : textOf(value, subject);
    checkText(text, subject);
    key += encode(text);
    nth += 1;
  }
  return withinLimit(key);
}

/** The identity text of a generation and a step of a key. */
export function mark(key: string, generation: number, step?: string): string {
  if (!Number.isInteger(generation) || generation < 1 || generation > 4_294_967_295) {
    throw new KeyError('a generation is an integer of 1 to 4294967295', 'bad_generation');
  }
  if (step !== undefined && !/^[a-z0-9_.-]{1,64}$/.test(step)) {
    throw new KeyError('the name of a step has 1 to 64 characters of a-z, 0-9, `_`, `.` and `-`', 'bad_step');
  }
  return withinLimit(`${key}${generation > 1 ? `#${generation}` : ''}${step === undefined ? '' : `!${step}`}`);
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function textOf(value: unknown, subject: string): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'number':
      if (Number.isSafeInteger(value)) return String(value);
      throw new KeyError(
        `${subject} is a number with a fraction, or beyond ±(2^53−1): use an integer, a BigInt or a string`,
        'not_an_integer',
      );
    case 'undefined':
      throw new KeyError(`${subject} is missing in the input`, 'missing');
    default:
      throw new KeyError(
        `${subject} is null, a list or an object: a key is made of strings, integers and booleans`,
        'not_a_key_part',
      );
  }
}

function textInForm(value: unknown, form: ValueForm, subject: string): string {
  if (form.form === 'opaque') {
    throw new KeyError(`how ${subject} is written in a key is known to its type in Rust alone`, 'opaque');
  }
  const text = textOf(value, subject);
  if (!hasForm(value, text, form)) {
    throw new KeyError(`${subject} is not written as the code writes it: here stands ${inWords(form)}`, 'other_form');
  }
  return form.form === 'names' ? (form.names[text] ?? text) : text;
}

function hasForm(value: unknown, text: string, form: ValueForm): boolean {
  if (form.form === 'boolean') return typeof value === 'boolean';
  if (form.form === 'integer') {
    const isInteger = typeof value === 'number' || typeof value === 'bigint';
    return isInteger && value >= form.least && value <= form.most;
  }
  if (typeof value !== 'string') return false;
  switch (form.form) {
    case 'character':
      return Array.from(text).length === 1;
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
    case 'date':
      return isDate(text);
    case 'names':
      return Object.hasOwn(form.names, text);
    default:
      return form.form === 'text';
  }
}

/** A day that its month does not have would be one of the next. */
function isDate(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function inWords(form: ValueForm): string {
  switch (form.form) {
    case 'integer':
      return `an integer of ${form.least} to ${form.most}`;
    case 'names':
      return `one of ${Object.keys(form.names).sort().join(', ')}`;
    case 'character':
      return 'a string of one character';
    case 'boolean':
      return 'true or false';
    case 'uuid':
      return 'a UUID with hyphens in lower case';
    case 'date':
      return 'a calendar date such as 2026-11-29';
    default:
      return 'a string';
  }
}

// Not that of `trim`, which also takes U+FEFF.
const WHITE_SPACE = '[\\u0009-\\u000D\\u0020\\u0085\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]';
const SURROUNDED = new RegExp(`^${WHITE_SPACE}|${WHITE_SPACE}$`, 'u');

function checkText(text: string, subject: string): void {
  if (text === '') {
    throw new KeyError(`${subject} is empty, so all records without it would share one key`, 'empty');
  }
  if (!text.isWellFormed()) {
    throw new KeyError(`${subject} has half of a surrogate pair: send well-formed Unicode`, 'not_unicode');
  }
  if (/[\u0000-\u001F\u007F-\u009F]/.test(text)) {
    throw new KeyError(`${subject} contains a control character: clean it where it enters`, 'control_character');
  }
  if (SURROUNDED.test(text)) {
    throw new KeyError(
      `${subject} begins or ends with white space, so that one thing could get two keys: trim it where it enters`,
      'surrounding_white_space',
    );
  }
}

/** `encodeURIComponent` leaves five characters alone that a key has encoded. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function withinLimit(key: string): string {
  if (key.length > LONGEST) {
    throw new KeyError(
      `the key has ${key.length} bytes and ${LONGEST} are allowed: use an id in place of a long text`,
      'too_long',
    );
  }
  return key;
}
