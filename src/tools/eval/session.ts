import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { parseJson } from '../../contract/json';
import { queueAfter } from '../within';
import { createCapture } from '../cut-output';
import { nothingDone, stopped, ToolError, TransportError } from '../errors';
import type { Sandbox, SandboxedProcess } from '../sandbox';
import type { CallContext } from '../types';

/** What the processes of a pack have in common. */
export interface SessionsPlan {
  sandbox: Sandbox;
  /** Absolute, where code runs. */
  cwd: string | undefined;
  /** A process without a call for this long is ended. */
  idleMs: number;
  /** As many processes live at once. */
  most: number;
  /** Bytes of output kept of one call. */
  outputLimit: number;
}

/** Code for the process of a key. */
export interface Evaluation {
  key: string;
  /** As `toScript` makes it. */
  script: string;
}

/** The processes of a pack, one for each key. */
export interface Sessions {
  /** Contract: one call of a key at a time; the others wait. Throws what the handler of the tool is to throw. */
  evaluate(evaluation: Evaluation, context: Pick<CallContext, 'signal' | 'partial'>): Promise<string>;
}

/** One process. */
interface Session {
  process: SandboxedProcess;
  channel: Socket;
  /** Takes the output, and hands out what has come. */
  output: Output;
  /** Resolves when the process has ended, to how. */
  exited: Promise<string>;
  /** No call has had it before. */
  isNew: boolean;
  busy: number;
  lastUsed: number;
  idle?: NodeJS.Timeout;
}

/** As many keys are remembered whose processes have ended, to say so. */
const MOST_LOST = 1000;

export function createSessions(plan: SessionsPlan): Sessions {
  const pool = createPool(plan);
  const queues = new Map<string, Promise<unknown>>();
  return {
    evaluate: (evaluation, context) => {
      const { key } = evaluation;
      const before = queues.get(key) ?? Promise.resolve();
      const until = { signal: context.signal, toError: notStarted };
      const { own, all } = queueAfter(before, () => evaluate(pool, evaluation, context), until);
      queues.set(key, all);
      void all.then(() => {
        if (queues.get(key) === all) queues.delete(key);
      });
      return own;
    },
  };
}

async function evaluate(
  pool: Pool,
  { key, script }: Evaluation,
  context: Pick<CallContext, 'signal' | 'partial'>,
): Promise<string> {
  const { session, why } = await pool.take(key);
  if (context.signal.aborted) {
    session.busy--;
    pool.release(key, session);
    throw notStarted();
  }
  const end = await ask(session, script, context).finally(() => session.busy--);
  if ('answer' in end) {
    pool.release(key, session);
    return toResult(end, session.isNew ? why : undefined);
  }
  const isGone = await pool.drop(
    key,
    session,
    'exited' in end ? `it ended (${end.exited})` : 'a call was stopped',
  );
  throw toLoss(end, { session, isGone });
}

/** The processes that live, and why others do not. */
interface Pool {
  /** The process of a key, started where there is none. `why`: what became of the one before, where that is news. */
  take(key: string): Promise<{ session: Session; why?: string | undefined }>;
  /** The process waits for its next call, for a while. */
  release(key: string, session: Session): void;
  /** Ends a process; resolves to whether all of it is gone. */
  drop(key: string, session: Session, why: string): Promise<boolean>;
}

function createPool(plan: SessionsPlan): Pool {
  const sessions = new Map<string, Session>();
  const lost = new LRUCache<string, string>({ max: MOST_LOST });
  const drop: Pool['drop'] = async (key, session, why) => {
    if (sessions.get(key) === session) sessions.delete(key);
    clearTimeout(session.idle);
    lost.set(key, why);
    return session.process.end();
  };
  let opening = 0;
  const start = async (): Promise<Session> => {
    while (sessions.size + opening >= plan.most) {
      const idle = [...sessions].filter(([, { busy }]) => busy === 0);
      const [oldest] = idle.sort(([, a], [, b]) => a.lastUsed - b.lastUsed);
      if (oldest === undefined)
        throw nothingDone(
          `${plan.most} processes are busy, which is the most. Nothing ran. Try again later.`,
        );
      await drop(...oldest, 'others needed its place');
    }
    opening++;
    return open(plan).finally(() => opening--);
  };
  const take: Pool['take'] = async (key) => {
    const known = sessions.get(key);
    clearTimeout(known?.idle);
    if (known !== undefined && isAlive(known))
      return { session: Object.assign(known, { isNew: false, busy: known.busy + 1 }) };
    if (known !== undefined) await drop(key, known, 'it had ended by itself');
    const session = await start();
    session.busy++;
    sessions.set(key, session);
    const why = lost.get(key);
    lost.delete(key);
    return { session, why };
  };
  const release: Pool['release'] = (key, session) => {
    session.lastUsed = Date.now();
    session.idle = setTimeout(() => void drop(key, session, 'it was idle for too long'), plan.idleMs).unref();
  };
  return { take, release, drop };
}

const notStarted = (): ToolError => nothingDone('It was stopped before it started.');

const isAlive = ({ process: { child } }: Session): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

/** The text of the program, which runs where no file of ours is shown. */
let host: string | undefined;

async function open({ sandbox, cwd, outputLimit }: SessionsPlan): Promise<Session> {
  host ??= readFileSync(join(__dirname, 'host.cjs'), 'utf8');
  const argv = [process.execPath, '-e', host];
  const started = await sandbox.start({ argv, ...(cwd === undefined ? {} : { cwd }) });
  const { child } = started;
  const channel = child.stdio[4];
  if (!(channel instanceof Socket)) throw nothingDone('The process has no channel. Nothing ran.');
  channel.on('error', () => undefined);
  const output = createOutput(outputLimit);
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', output.add);
  // A process that waits for a call keeps nobody's own process from ending.
  child.unref();
  for (const stream of child.stdio) if (stream instanceof Socket) stream.unref();
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
  });
  return { process: started, channel, output, exited, isNew: true, busy: 0, lastUsed: Date.now() };
}

/** What a process writes, from one asking to the next. */
interface Output {
  add: (chunk: Buffer) => void;
  /** What has come since the last time. */
  take(): string;
  /** Gets all that comes from now on, until it is set again. */
  listen(listener: (text: string) => void): void;
}

function createOutput(limit: number): Output {
  let capture = createCapture(limit);
  let tell: (text: string) => void = () => undefined;
  return {
    add: (chunk) => {
      capture.add(chunk);
      tell(chunk.toString('utf8'));
    },
    take: () => {
      const text = capture.text();
      capture = createCapture(limit);
      return text;
    },
    listen: (listener) => (tell = listener),
  };
}

const answerSchema = z.object({ id: z.int(), kind: z.enum(['value', 'error']), text: z.string() });

/** What is known of a call once it is over. */
type End =
  | { answer: z.output<typeof answerSchema>; before: string; output: string }
  | { exited: string; output: string }
  | { stopped: true }
  | { garbled: true };

/** A line that is longer cannot be an answer, which has 200,000 letters at most. */
const MOST_BYTES = 1.5 * 1024 * 1024;

let lastId = 0;

async function ask(
  { channel, output, exited }: Session,
  code: string,
  { signal, partial }: Pick<CallContext, 'signal' | 'partial'>,
): Promise<End> {
  const before = output.take();
  const id = ++lastId;
  output.listen(partial);
  let undo = (): void => undefined;
  const over = new Promise<End>((resolve) => {
    const onData = lineReader((line) => {
      if (line === undefined) return resolve({ garbled: true });
      const answer = answerSchema.safeParse(parseJson(line)).data;
      // Only the program writes there beside us, and what is not its answer is a forged one.
      resolve(answer?.id === id ? { answer, before, output: '' } : { garbled: true });
    });
    const onAbort = (): void => resolve({ stopped: true });
    channel.on('data', onData);
    signal.addEventListener('abort', onAbort, { once: true });
    undo = () => {
      channel.off('data', onData);
      signal.removeEventListener('abort', onAbort);
      output.listen(() => undefined);
    };
  });
  channel.ref();
  channel.write(`${JSON.stringify({ id, code })}\n`);
  const end = await Promise.race([over, exited.then((how): End => ({ exited: how, output: '' }))]);
  // Two turns of the loop: what was written before the answer is in the pipe, and is read first.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  undo();
  channel.unref();
  return 'output' in end ? { ...end, output: output.take() } : end;
}

/** Reads lines; undefined stands for one that has no end. Each byte is looked at once, whatever the sender does. */
function lineReader(onLine: (line: string | undefined) => void): (chunk: Buffer) => void {
  let [parts, size] = [new Array<Buffer>(), 0];
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      onLine(Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8'));
      [parts, size, from] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > MOST_BYTES) onLine(undefined);
  };
}

function toResult(
  { answer, before, output }: Extract<End, { answer: unknown }>,
  why: string | undefined,
): string {
  const isNew =
    why === undefined ? [] : [`[This is a new process: ${why}. What earlier calls had defined is lost.]`];
  const late = before === '' ? [] : [`[written after the last call had ended]\n${before}`];
  if (answer.kind === 'error') {
    // What it wrote goes along by itself.
    throw new ToolError([...isNew, ...late, answer.text].join('\n'));
  }
  return [...isNew, ...late, ...(output === '' ? [] : [output]), `Value: ${answer.text}`].join('\n');
}

const LOST = 'What earlier calls had defined is lost; the next call starts a new process.';

function toLoss(
  end: Exclude<End, { answer: unknown }>,
  { session, isGone }: { session: Session; isGone: boolean },
) {
  if (!isGone) return new TransportError('the process was killed, but something of it may still run');
  if (!session.process.mayHaveRun())
    return nothingDone(
      `The sandbox could not be made, so nothing ran: ${'output' in end ? end.output.trim() : ''}`,
    );
  if ('stopped' in end) return stopped(`The code did not end in time, so its process was ended. ${LOST}`);
  if ('garbled' in end)
    return new ToolError(`The process gave no answer that can be read, and was ended. ${LOST}`);
  return new ToolError(`The process ended (${end.exited}) while the code ran. ${LOST}`);
}
