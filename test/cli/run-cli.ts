import { PassThrough, Readable, Writable } from 'node:stream';
import { runProgram } from '../../src/cli/program';
import { root } from '../support/build';
import { bareEnv, type Ended, type RunningCommand, type RunOptions } from './process';
import { personAt, type Typed, untilOver } from './typed';

/** Runs `countersign` to its end in this process, with no settings of this machine. */
export function runCli(args: readonly string[], options?: RunOptions): Promise<Ended> {
  return startHere(args, options).ended;
}

/** Starts `countersign` in this process, with no settings of this machine. No signal reaches it alone. */
export function startHere(
  args: readonly string[],
  { env = {}, cwd = root, input = '' }: RunOptions = {},
): RunningCommand {
  const [out, err] = [pipe(), pipe()];
  const keyboard = { input: Readable.from(input === '' ? [] : [input]), output: out.end };
  const streams = { out: out.end, err: err.end, keyboard, env: { ...bareEnv(), ...env } };
  const ended = inFolder(cwd, () => runProgram(args, streams)).then((code) => ({
    code,
    out: out.text(),
    err: err.text(),
  }));
  const signal = (): never => {
    throw new Error('a signal would end the tests');
  };
  return { signal, out: out.text, err: err.text, ended };
}

/** Types `countersign …` at a terminal in this process, which sends no signals. */
export function typedHere(args: readonly string[], env: NodeJS.ProcessEnv): Typed {
  const { text, end } = pipe();
  const output = Object.assign(end, { isTTY: true, columns: 80, rows: 24 });
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const keyboard = { input, output };
  const streams = { out: output, err: output, keyboard, env: { ...bareEnv(), TERM: 'xterm', ...env } };
  let isOver = false;
  const ended = inFolder(root, () => runProgram(args, streams)).finally(() => (isOver = true));
  untilOver(() => void input.end(), ended);
  return { ...personAt({ raw: text, isOver: () => isOver, input }), ended };
}

/** A stream that keeps what is written to it. */
function pipe(): { end: Writable; text(): string } {
  let text = '';
  const end = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      done();
    },
  });
  return { end, text: () => text };
}

/** The folder in which commands run now, and how many of them do. */
let inside: { folder: string; before: string; count: number } | undefined;

/** A process has one folder, so commands that run at the same time have to share it. */
async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  inside ??= { folder, before: process.cwd(), count: 0 };
  if (inside.folder !== folder) throw new Error(`a command still runs in ${inside.folder}`);
  inside.count += 1;
  process.chdir(folder);
  try {
    return await work();
  } finally {
    inside.count -= 1;
    if (inside.count === 0) {
      process.chdir(inside.before);
      inside = undefined;
    }
  }
}
