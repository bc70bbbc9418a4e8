// What of an error leaves the process: one line without what looks like a secret.

const LONGEST = 2000;

/** The text of a failure for the server. Never a stack, and nothing of an object but its message. */
export function failureMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : '';
  const line = text
    .replaceAll(/Bearer\s+\S+/gi, 'Bearer [REDACTED]')
    .replaceAll(/[A-Z0-9._%+-]+@[A-Z0-9.-]+\.[A-Z]{2,}/gi, '[REDACTED EMAIL]')
    .replaceAll(/(api[_-]?key|token|secret|password)(\s*[=:]\s*)[^\s,;]+/gi, '$1$2[REDACTED]')
    .split(/\r\n|[\n\r\u2028\u2029]/, 1)
    .join('')
    .toWellFormed();
  return Array.from(line).slice(0, LONGEST).join('') || 'the handler failed';
}
