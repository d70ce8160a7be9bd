import { spawn } from 'node:child_process';
import type { Receiver } from './receiver';

const TIMEOUT_MS = 60_000;

/** A receiver that is a command of a shell: it reads the notice as JSON on stdin and took it if it ends with 0. */
export function createCommand(command: string, env: NodeJS.ProcessEnv): Receiver {
  return {
    name: 'the command',
    deliver: (notice, signal) => run(command, { input: `${JSON.stringify(notice)}\n`, env, signal }),
  };
}

interface Run {
  input: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

async function run(command: string, { input, env, signal }: Run): Promise<void> {
  // Its output is progress to a person, so it goes where ours goes.
  const child = spawn('sh', ['-c', command], { env, detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  const end = (): void => endGroup(child.pid);
  const timer = setTimeout(end, TIMEOUT_MS);
  signal.addEventListener('abort', end, { once: true });
  // A command need not read what it is given.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const ended = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, by) => resolve(by ?? code ?? 1));
    });
    if (ended !== 0) throw new Error(`it ended with ${ended}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** Ends the command and all it started. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
