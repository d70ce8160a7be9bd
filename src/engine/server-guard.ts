import { spawn } from 'node:child_process';
import { signal } from './server-process';
import type { ServerProcess } from './server-process';

/**
 * Ends a server with this process. A usual exit ends it from here. If this process is killed, nobody could find a
 * server in memory again, so a shell waits for our end of a pipe to close and ends it; a server with a file goes on,
 * and the next start on the file takes it over. Returns what calls the guard off.
 */
export const endWithUs = (server: ServerProcess, inMemory: boolean): (() => void) => {
  // SIGKILL, because a server that takes its time to end would be mistaken for a living one by the next start.
  const onExit = (): void => void signal(server.pid, 'SIGKILL');
  process.once('exit', onExit);
  const dismiss = inMemory ? watchFor(server.pid) : () => undefined;
  const callOff = (): void => {
    process.removeListener('exit', onExit);
    dismiss();
  };
  void server.exited.then(callOff);
  return callOff;
};

const watchFor = (pid: number): (() => void) => {
  const watcher = spawn('/bin/sh', ['-c', 'cat >/dev/null; kill -9 "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  // SIGKILL to the group: the shell must not get to its `kill`.
  return () => void (watcher.pid === undefined ? false : signal(-watcher.pid, 'SIGKILL'));
};
