import { type ChildProcess, spawn } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client' with {
  'resolution-mode': 'import',
};
import { errnoOf, errorMessage } from '../../contract/errors';
import { createCapture } from '../cut-output';
import { TransportError } from '../errors';
import { killGroup, killLeftBehind, markedEnvironment, newMark } from '../run-process';
import { within } from '../wait-within';
import { repeatsLongId } from './limit-answers';

/** The program of a server to start, never through a shell. */
interface Program {
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment of the program. */
  env: Readonly<Record<string, string>>;
  /** Takes secrets out of what the program wrote to its standard error. */
  hide(text: string): string;
}

/** The client library's functions between text and messages of the protocol. */
interface Codec {
  /** @throws Error for a line that is not a message. */
  deserializeMessage(line: string): JSONRPCMessage;
  serializeMessage(message: JSONRPCMessage): string;
}

/** The most bytes of a server's line: more than the largest result of a tool. */
const LINE_BYTES = 10 * 1024 * 1024;

/** The most bytes of ours that may wait for a server to read them before the server counts as broken. */
const UNREAD_BYTES = LINE_BYTES;

/** The most lines in a row that may not be messages before the server counts as broken. */
const MOST_RUBBISH = 1000;

/** The bytes of standard error that are kept, for people who look for the reason of an end. */
const STDERR_BYTES = 8 * 1024;

/**
 * The time for which we read the pipe after a server has ended. A process that the server left behind may hold the pipe
 * open.
 */
const DRAIN_MS = 200;

/** The time that a server gets to end by itself, and again after SIGTERM. */
const GRACE_MS = 1000;

/**
 * Starts a program when the client connects, in a process group of its own. When the program has ended, the processes
 * that it left behind are killed. The program does not keep this process running, and ends with it.
 *
 * `send` rejects if the program has ended, with a TransportError that proves that nothing was sent.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  private child: ChildProcess | undefined;
  private readonly words = createCapture(STDERR_BYTES);
  private readonly lines: Lines;
  private readonly mark = newMark();
  private isClosed = false;

  constructor(
    private readonly program: Program,
    private readonly codec: Codec,
  ) {
    this.lines = new Lines((line) => this.take(line));
  }

  async start(): Promise<void> {
    const child = launch(this.program, this.mark);
    this.child = child;
    // A program that could not be started has no number, and will not exit.
    if (child.pid !== undefined) live.add(child);
    child.stderr?.on('data', (chunk: Buffer) => this.words.add(chunk));
    child.stdout?.on('data', (chunk: Buffer) => this.read(child, chunk));
    child.stdin?.on('error', (error) => this.onerror?.(error));
    child.once('exit', () => void this.drain(child));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(startError(error, this.program.command)));
    });
    letGo(child);
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { child } = this;
    if (child?.stdin?.writable !== true || this.isClosed)
      return Promise.reject(new TransportError('the MCP server has ended', { nothingSent: true }));
    const why = whyBroken(child.stdin.writableLength, message);
    if (why !== undefined) {
      this.breakOff(child, why);
      return Promise.reject(new TransportError(`the MCP server was ended: ${why}`, { nothingSent: true }));
    }
    child.stdin.write(this.codec.serializeMessage(message));
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const { child } = this;
    if (child !== undefined) await end(child);
    this.closed();
  }

  lastWords(): string {
    return this.program.hide(this.words.text()).trim();
  }

  private read(child: ChildProcess, chunk: Buffer) {
    try {
      this.lines.add(chunk);
    } catch (error) {
      this.breakOff(child, errorMessage(error));
    }
  }

  /** Ends a server that counts as broken. */
  private breakOff(child: ChildProcess, why: string) {
    // The library may still have more to send until the server has exited.
    if (child.stdout?.destroyed !== true) this.words.add(Buffer.from(`\n${why}`));
    child.stdout?.destroy();
    killGroup(child, 'SIGKILL');
  }

  /** Handles a line. False if the line is not a message. */
  private take(line: string) {
    let message: JSONRPCMessage;
    try {
      message = this.codec.deserializeMessage(line);
    } catch {
      return false;
    }
    this.onmessage?.(message);
    return true;
  }

  private async drain(child: ChildProcess) {
    live.delete(child);
    const closed = new Promise((resolve) => child.once('close', resolve));
    await within(closed, DRAIN_MS);
    await killLeftBehind(child.pid ?? 0, this.mark);
    child.stdout?.destroy();
    child.stderr?.destroy();
    this.closed();
  }

  private closed() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.onclose?.();
  }
}

/** Why a server counts as broken before a message is sent to it. */
function whyBroken(unreadBytes: number, message: JSONRPCMessage): string | undefined {
  if (repeatsLongId(message)) return 'it sent a request whose id is too long';
  return unreadBytes > UNREAD_BYTES ? 'it does not read what is sent to it' : undefined;
}

/** Splits output into lines. Throws for a line that is too long, or for too many lines that are not messages. */
class Lines {
  private parts: Buffer[] = [];
  private bytes = 0;
  private rubbish = 0;

  constructor(private readonly take: (line: string) => boolean) {}

  /** @throws Error if the server counts as broken. */
  add(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      this.keep(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      this.line();
    }
    this.keep(rest);
  }

  private keep(part: Buffer) {
    this.bytes += part.length;
    if (this.bytes > LINE_BYTES) {
      this.parts = [];
      throw new Error(`it wrote a line of more than ${LINE_BYTES / 1024 / 1024} MiB`);
    }
    if (part.length > 0) this.parts.push(part);
  }

  private line() {
    const line = Buffer.concat(this.parts).toString('utf8');
    this.parts = [];
    this.bytes = 0;
    this.rubbish = this.take(line) ? 0 : this.rubbish + 1;
    if (this.rubbish > MOST_RUBBISH)
      throw new Error(`it wrote ${MOST_RUBBISH} lines that are no messages of MCP`);
  }
}

function launch({ command, args, cwd, env }: Program, mark: string): ChildProcess {
  try {
    return spawn(command, [...args], {
      cwd,
      env: { ...env, ...markedEnvironment(mark) },
      stdio: ['pipe', 'pipe', 'pipe'],
      // The server gets its own process group, so that all processes that it starts can be killed with it.
      detached: true,
    });
  } catch (error) {
    throw startError(error, command);
  }
}

function startError(error: unknown, command: string): TransportError {
  const why = errnoOf(error) === 'ENOENT' ? 'there is no such program or folder' : errorMessage(error);
  return new TransportError(`${command} could not be started: ${why}`, { nothingSent: true, cause: error });
}

/** Lets this process end although the program runs. The timer of a waiting call keeps this process running. */
function letGo(child: ChildProcess) {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr])
    if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
}

async function end(child: ChildProcess) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  if ((await within(exited, GRACE_MS)).ended) return;
  killGroup(child, 'SIGTERM');
  if ((await within(exited, GRACE_MS)).ended) return;
  killGroup(child, 'SIGKILL');
  await within(exited, GRACE_MS);
}

/**
 * The servers of this process. All these servers end with this process, even if they ignore the end of their standard
 * input.
 */
const live = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of live) killGroup(child, 'SIGKILL');
});
