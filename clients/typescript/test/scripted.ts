// A server that answers as a test says, and remembers what it was asked.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly body: any;
}

/** The status and body of an answer; `'cut'` closes the connection without one. */
export type Answer = [status: number, body?: unknown, headers?: Record<string, string>] | 'cut';

export interface Scripted {
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

export async function scripted(answer: (asked: Asked, nth: number) => Answer | Promise<Answer>): Promise<Scripted> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const text = await bodyOf(request);
    const { method = '', url = '', headers } = request;
    const call = { method, path: url, key: headers.authorization, body: text === '' ? undefined : JSON.parse(text) };
    asked.push(call);
    const answered = await answer(call, asked.length);
    if (answered === 'cut') {
      request.socket.destroy();
      return;
    }
    const [status, body, more] = answered;
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(body === undefined ? '' : JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  request.setEncoding('utf8');
  for await (const part of request) text += part as string;
  return text;
}
