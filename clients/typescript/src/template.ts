// Key templates: `spec/key-language.md`, section 1.

import { KeyError } from './errors.js';

/** A literal, or the path of a placeholder. */
export type Piece = { readonly literal: string } | { readonly path: string };

// An identifier is not `_` alone.
const GRAMMAR =
  /^(?:[a-z0-9_.:/-]|<(?!_[.>])[A-Za-z_][A-Za-z0-9_]*(?:\.(?!_[.>])[A-Za-z_][A-Za-z0-9_]*)*>)*$/;

const parsed = new Map<string, readonly Piece[]>();

/** The pieces of a template. Templates are constants of a program, so each is read once. */
export function pieces(template: string): readonly Piece[] {
  const known = parsed.get(template);
  if (known) return known;
  check(template);
  const found = Array.from(template.matchAll(/([^<]+)|<([^>]+)>/g), ([, literal, path]) =>
    literal === undefined ? { path: path ?? '' } : { literal },
  );
  parsed.set(template, found);
  return found;
}

function check(template: string): void {
  // A placeholder counts as one character.
  const shape = template.replaceAll(/<[^>]*>/g, 'x');
  const placeholders = template.split('<').length - 1;
  const rules: [boolean, string, string][] = [
    [Buffer.byteLength(template) > 512, 'R007', 'it has more than 512 bytes'],
    [!GRAMMAR.test(template), 'R007', 'it does not follow the grammar'],
    [placeholders === 0, 'R006', 'it has no placeholder, so all records would share one key'],
    [/>[^<:/]*</.test(template), 'R007', 'there is no `:` or `/` between two placeholders'],
    [/^[:/]|[:/]$|[:/][:/]/.test(shape), 'R007', 'it has an empty segment'],
    [placeholders > 16, 'R007', 'it has more than 16 placeholders'],
    [shape.length > 255, 'R007', 'it has more than 255 bytes beside its placeholders'],
  ];
  for (const [broken, code, what] of rules) {
    if (broken) throw new KeyError(`the key template is refused: ${what}`, code);
  }
}
