import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { race } from '../../system/race';
import { parseJson } from '../../contract/json';
import { queueAfter } from '../wait-within';
import { createCapture } from '../cut-output';
import { nothingDone, stopped, ToolError, TransportError } from '../errors';
import { Pool } from '../pool';
import type { Sandbox, SandboxedProcess } from '../sandbox';
import type { CallContext } from '../types';

/** The settings that all processes of a pack share. */
interface SessionsPlan {
  sandbox: Sandbox;
  /** The absolute path of the folder in which code runs. */
  cwd: string | undefined;
  /** A process without a call for this long is ended. */
  idleMs: number;
  /** The most processes that run at the same time. */
  most: number;
  /** Bytes of output kept of one call. */
  outputLimit: number;
}

/** Code for the process of a key. */
interface Evaluation {
  key: string;
  /** The script that `toScript` returned. */
  script: string;
}

/** One process. */
interface Session {
  process: SandboxedProcess;
  channel: Socket;
  /** Collects the output of the process. */
  output: Output;
  /** Resolves when the process has ended. */
  exited: Promise<Exited>;
}

export function createEvalSessions(plan: SessionsPlan) {
  const pool = new Pool({
    what: 'processes',
    open: () => open(plan),
    close: ({ process }) => process.end(),
    isAlive: ({ process: { child } }) =>
      child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    ...plan,
  });
  const queues = new Map<string, Promise<unknown>>();
  return {
    /**
     * Contract: one call of a key runs at a time, and the others wait. Throws the errors that the tool's handler has to
     * throw.
     */
    evaluate: (evaluation: Evaluation, context: Pick<CallContext, 'signal' | 'partial'>) => {
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
  pool: Pool<Session>,
  { key, script }: Evaluation,
  context: Pick<CallContext, 'signal' | 'partial'>,
) {
  const { one: session, why, release, drop } = await pool.take(key);
  if (context.signal.aborted) {
    release('unused');
    throw notStarted();
  }
  const end = await ask(session, script, context);
  if ('answer' in end) {
    release();
    return toResult(end, why);
  }
  const isGone = await drop('exited' in end ? `it ended (${end.exited})` : 'a call was stopped');
  throw toLoss(end, { session, isGone });
}

const notStarted = () => nothingDone('It was stopped before it started.');

/** The program as text, because the sandbox does not show our files. */
let host: string | undefined;

async function open({ sandbox, cwd, outputLimit }: SessionsPlan): Promise<Session> {
  host ??= readFileSync(join(__dirname, 'host.cjs'), 'utf8');
  const argv = [process.execPath, '-e', host];
  const started = await sandbox.start({ argv, cwd });
  const { child } = started;
  const channel = child.stdio[4];
  if (!(channel instanceof Socket)) throw nothingDone('The process has no channel. Nothing ran.');
  channel.on('error', () => undefined);
  const output = createOutput(outputLimit);
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', output.add);
  // A process that waits for a call must not keep this process running.
  child.unref();
  for (const stream of child.stdio) if (stream instanceof Socket) stream.unref();
  const exited = new Promise<Exited>((resolve) => {
    const tell = (how: string) => resolve({ exited: how, output: '' });
    child.once('error', (error) => tell(error.message));
    child.once('close', (code, signal) => tell(signal === null ? `exit code ${code}` : signal));
  });
  return { process: started, channel, output, exited };
}

/** The output of a process, handed out piece by piece. */
interface Output {
  add: (chunk: Buffer) => void;
  /** The output since the last call of `take`. */
  take(): string;
  /** Sets the function that receives all further output. */
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

/** How a process ended: its exit code, its signal or an error, in words. */
interface Exited {
  exited: string;
  output: string;
}

/** How a call ended. */
type End =
  | { answer: z.output<typeof answerSchema>; before: string; output: string }
  | Exited
  | { stopped: true }
  | { garbled: true };

/** The most bytes of a line. An answer has 200,000 letters at most, so a longer line cannot be an answer. */
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
  let undo = () => undefined;
  const over = new Promise<End>((resolve) => {
    const onData = lineReader((line) => {
      if (line === undefined) return resolve({ garbled: true });
      const answer = answerSchema.safeParse(parseJson(line)).data;
      // Only our program should write to this channel, so a line that is not its answer is forged.
      resolve(answer?.id === id ? { answer, before, output: '' } : { garbled: true });
    });
    const onAbort = () => resolve({ stopped: true });
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
  const end = await race([over, exited]);
  // Two turns of the event loop: output from before the answer is already in the pipe, and they let us read it.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  undo();
  channel.unref();
  return 'output' in end ? { ...end, output: output.take() } : end;
}

/** Calls `onLine` with each line, and with undefined for a line that is too long. Reads each byte only once. */
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

function toResult({ answer, before, output }: Extract<End, { answer: unknown }>, why: string | undefined) {
  const isNew =
    why === undefined ? [] : [`[This is a new process: ${why}. What earlier calls had defined is lost.]`];
  const late = before === '' ? [] : [`[written after the last call had ended]\n${before}`];
  if (answer.kind === 'error') {
    // The output is not part of this error: the handler has already reported it with `partial`.
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
