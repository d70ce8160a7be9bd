import { spawn } from 'node:child_process';
import { until } from '../../support/until';

/** Node's own command-line debugger, attached to a process. */
export interface AttachedDebugger {
  /** Types a command, and waits for something that is printed after it. */
  ask(command: string, answer: RegExp): Promise<RegExpMatchArray>;
  /** Waits for something that is printed. */
  sees(answer: RegExp): Promise<RegExpMatchArray>;
  /** Lets the process go. */
  leave(): Promise<void>;
}

/** Attaches to a port of this machine. */
export const attach = (port: string): AttachedDebugger => {
  const child = spawn(process.execPath, ['inspect', `127.0.0.1:${port}`]);
  const closed = new Promise((resolve) => child.once('close', resolve));
  let out = '';
  let seen = 0;
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  const sees = async (answer: RegExp): Promise<RegExpMatchArray> => {
    const found = await until(
      `${String(answer)} in ${out}`,
      () => out.slice(seen).match(answer) ?? undefined,
    );
    seen += (found.index ?? 0) + found[0].length;
    return found;
  };
  const ask = (command: string, answer: RegExp): Promise<RegExpMatchArray> => {
    child.stdin.write(`${command}\n`);
    return sees(answer);
  };
  const leave = async (): Promise<void> => {
    child.kill();
    await closed;
  };
  return { ask, sees, leave };
};
