import type { ChildProcess } from 'node:child_process';
import { codeOf } from '../workspace/errno';

/** Between SIGTERM and SIGKILL; well within the time the executor gives a handler to end. */
const GRACE_MS = 1000;

/** Kills the process group of a child when a signal aborts: asked first, then made to. The function undoes it. */
export function killOnAbort(child: ChildProcess, signal: AbortSignal): () => void {
  let hard: NodeJS.Timeout | undefined;
  const kill = (): void => {
    killGroup(child, 'SIGTERM');
    hard = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
  };
  if (signal.aborted) kill();
  else signal.addEventListener('abort', kill, { once: true });
  return () => {
    clearTimeout(hard);
    signal.removeEventListener('abort', kill);
  };
}

/** Sends a signal to a child that leads a group, and to everything in it; the group may be gone already. */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // EPERM is what macOS says of a group of which only a zombie is left.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error;
  }
}
