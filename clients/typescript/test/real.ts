// Starts the program `ratchet` as a server with a store of its own.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { Ratchet } from '../src/index.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** A program of the repository's build, or one that a variable names. */
function program(variable: string, built: string): string {
  const path = process.env[variable] ?? join(ROOT, built);
  if (!existsSync(path)) throw new Error(`${path} is missing: \`cargo xtask test --only clients\` makes it`);
  return path;
}

export const PYTHON = program('RATCHET_TEST_PYTHON', 'target/tools/python/bin/python');
const RATCHET = program('RATCHET_TEST_PROGRAM', 'target/debug/ratchet');

export type Scope = 'producer' | 'worker' | 'operator';

export class Server {
  private constructor(
    readonly url: string,
    private readonly store: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'ratchet-'));
    const store = `sqlite:${join(folder, 'ratchet.db')}`;
    const child = spawn(RATCHET, ['serve', '--store', store, '--listen', '127.0.0.1:0', '--log', 'warn'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await firstLine(child);
    return new Server(url.replace('listening on ', ''), store, folder, child);
  }

  /** A new API key. */
  key(scope: Scope): string {
    const made = execFileSync(RATCHET, ['keys', 'create', '--store', this.store, '--scope', scope]);
    return made.toString().trim();
  }

  /** A client with a key of this scope. */
  as(scope: Scope): Ratchet {
    return new Ratchet({ url: this.url, apiKey: this.key(scope) });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

/** The first line that a program prints. */
export function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new TypeError('the program has no output');
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the program ended with ${code} before it said anything`)));
  });
}
