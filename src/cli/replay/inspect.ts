import { close, open, url, waitForDebugger } from 'node:inspector';
import { CountersignError } from '../../contract/errors';
import type { Screen } from '../print/screen';

const HOST = '127.0.0.1';

/**
 * Lets a debugger of this machine attach. Node itself says so on stderr, with its address.
 *
 * @throws CountersignError `usage` for a port that is taken.
 */
export function openInspector(port: number): void {
  open(port, HOST);
  if (url() !== undefined) return;
  throw new CountersignError('usage', `--port ${port}: a debugger cannot listen there`, {
    hint: 'Name a port that is free, or 0 for any.',
  });
}

/** Says how to attach, and waits for somebody to do so. */
export function awaitDebugger({ note }: Pick<Screen, 'note'>): void {
  const { host } = new URL(url() ?? `ws://${HOST}`);
  note(`waiting for a debugger at ${host}: open chrome://inspect, or attach to Node.js in VS Code`);
  waitForDebugger();
}

/**
 * Lets the debugger go when all is told, as soon as it wants to. Left to the end of the process, Node takes apart what a
 * debugger still holds of the sandbox, and crashes at that, rarely.
 */
export function closeInspectorAtEnd(): void {
  process.once('beforeExit', close);
}
