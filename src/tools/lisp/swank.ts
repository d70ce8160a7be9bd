import { connect, type Socket } from 'node:net';
import { errorMessage } from '../../contract/errors';
import { ToolError, TransportError } from '../errors';
import { isList, isSymbol, lispSymbol, printSexp, readSexp, type Sexp } from './sexp';

/** The address of a Swank server. */
export interface SwankAddress {
  host: string;
  port: number;
  /** The secret that Swank asks for first. Absent: Swank asks for no secret. */
  secret?: string;
}

const CONNECT_MS = 5_000;

/** The most bytes of a message from Lisp: more than our largest answer, and far less than a worker's memory. */
const MOST_BYTES = 4 * 1024 * 1024;
const HEADER_BYTES = 6;

/** The state of a connection. */
interface Line {
  socket: Socket;
  waiting: Map<number, { resolve(value: Sexp): void; reject(error: Error): void }>;
  nextId: number;
  ended: string | undefined;
}

/** Connects to Swank and sends the secret. @throws TransportError if nothing listens; nothing was sent then. */
export async function connectSwank(address: SwankAddress) {
  const line: Line = { socket: await open(address), waiting: new Map(), nextId: 1, ended: undefined };
  const { socket } = line;
  socket.setNoDelay(true);
  // A connection alone must not keep the process running; a waiting request does.
  socket.unref();
  const reader = createReader((text) => take(line, text));
  socket.on('data', (chunk: Buffer) => {
    try {
      reader(chunk);
    } catch (error) {
      end(line, errorMessage(error));
    }
  });
  socket.on('error', (error) => end(line, errorMessage(error)));
  socket.on('close', () => end(line, 'the image closed the connection'));
  if (address.secret !== undefined) write(line, address.secret);
  return {
    /**
     * Asks Lisp to evaluate a form of ours, in a thread of its own, and waits for the value.
     *
     * @throws ToolError if Lisp gave the request up, TransportError if the connection ended first.
     */
    request: (form: Sexp) => request(line, form),
    /** Why the connection ended. Undefined while it is open. */
    ended: () => line.ended,
    close: () => end(line, 'the connection was closed'),
  };
}

/** A connection to an image, over Swank. */
export type Swank = Awaited<ReturnType<typeof connectSwank>>;

function open({ host, port }: SwankAddress): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const fail = (why: string) => {
      socket.destroy();
      reject(new TransportError(`Swank at ${host}:${port} cannot be reached: ${why}`, { nothingSent: true }));
    };
    socket.once('error', (error) => fail(errorMessage(error)));
    socket.once('timeout', () => fail(`no answer for ${CONNECT_MS} ms`));
    socket.once('connect', () => {
      socket.removeAllListeners().setTimeout(0);
      resolve(socket);
    });
  });
}

/** Splits a stream into messages. A message is its length in six hexadecimal digits, then that many bytes of UTF-8. */
function createReader(onMessage: (text: string) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    for (;;) {
      const length = lengthOf(held);
      if (length === undefined || held.length < HEADER_BYTES + length) return;
      const text = held.toString('utf8', HEADER_BYTES, HEADER_BYTES + length);
      held = held.subarray(HEADER_BYTES + length);
      onMessage(text);
    }
  };
}

/** The length in a header. Undefined while the header is incomplete. */
function lengthOf(held: Buffer): number | undefined {
  if (held.length < HEADER_BYTES) return undefined;
  const header = held.toString('latin1', 0, HEADER_BYTES);
  if (!/^[0-9a-f]{6}$/i.test(header)) throw new Error('what came is not a message of Swank');
  const length = Number.parseInt(header, 16);
  if (length > MOST_BYTES)
    throw new Error(`a message of Swank has ${length} bytes, and may have ${MOST_BYTES}`);
  return length;
}

function write({ socket }: Line, text: string) {
  const bytes = Buffer.from(text, 'utf8');
  const header = bytes.length.toString(16).padStart(HEADER_BYTES, '0');
  socket.write(Buffer.concat([Buffer.from(header, 'latin1'), bytes]));
}

const PACKAGE = 'COMMON-LISP-USER';
const NEW_THREAD = lispSymbol('t');

function request(line: Line, form: Sexp): Promise<Sexp> {
  if (line.ended !== undefined)
    return Promise.reject(
      new TransportError(`no connection to the image: ${line.ended}`, { nothingSent: true }),
    );
  return new Promise((resolve, reject) => {
    line.waiting.set(line.nextId, { resolve, reject });
    line.socket.ref();
    send(line, form, NEW_THREAD);
  });
}

function send(line: Line, form: Sexp, thread: Sexp) {
  write(line, printSexp([lispSymbol(':emacs-rex'), form, PACKAGE, thread, line.nextId]));
  line.nextId += 1;
}

/** Handles one message from Lisp. Ignores messages that an editor would show to a person. */
function take(line: Line, text: string) {
  const message = readSexp(text);
  if (!isList(message)) throw new Error('a message of Swank is not a list');
  const [kind, ...rest] = message;
  if (isSymbol(kind, ':return')) return settle(line, rest);
  const [first, second] = rest;
  if (first === undefined || second === undefined) return;
  if (isSymbol(kind, ':ping')) write(line, printSexp([lispSymbol(':emacs-pong'), first, second]));
  // No person uses this debugger, so the thread returns to its top level.
  if (isSymbol(kind, ':debug')) send(line, [lispSymbol('swank:throw-to-toplevel')], first);
}

function settle({ socket, waiting }: Line, [outcome, id]: Sexp[]) {
  const waiter = typeof id === 'number' ? waiting.get(id) : undefined;
  if (waiter === undefined || typeof id !== 'number' || !isList(outcome)) return;
  waiting.delete(id);
  if (waiting.size === 0) socket.unref();
  const [status, value = []] = outcome;
  if (isSymbol(status, ':ok')) waiter.resolve(value);
  else
    waiter.reject(
      new ToolError(`Lisp gave the request up: ${typeof value === 'string' ? value : 'no reason given'}`),
    );
}

function end(line: Line, why: string) {
  if (line.ended !== undefined) return;
  line.ended = why;
  line.socket.destroy();
  for (const { reject } of line.waiting.values())
    reject(new TransportError(`the connection to the image ended: ${why}`));
  line.waiting.clear();
}
