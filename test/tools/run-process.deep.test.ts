import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { killLeftBehind, markedEnvironment, newMark } from '../../src/tools/run-process';

const spawned: ChildProcess[] = [];
afterEach(() => {
  for (const child of spawned.splice(0)) child.kill('SIGKILL');
});

const started = (env: Record<string, string>): ChildProcess => {
  const child = spawn('/bin/sleep', ['300'], { env, detached: true, stdio: 'ignore' });
  spawned.push(child);
  return child;
};

/** A number that belonged to a process and to nobody now. */
const gone = (): number => spawnSync('/bin/true').pid;

it('finds a process by its mark alone, and leaves others', async () => {
  const mark = newMark();
  const marked = started(markedEnvironment(mark));
  const other = started(markedEnvironment(newMark()));
  const ended = new Promise((resolve) => marked.once('exit', (_, signal) => resolve(signal)));
  expect(await killLeftBehind(gone(), mark)).toEqual({ killed: 1, survivors: 0 });
  expect(await ended).toBe('SIGKILL');
  expect(other.exitCode ?? other.signalCode).toBeNull();
});

it('leaves the group of a process that has the number of the leader by now', async () => {
  const other = started({});
  expect(await killLeftBehind(other.pid ?? 0, newMark())).toEqual({ killed: 0, survivors: 0 });
  expect(other.exitCode ?? other.signalCode).toBeNull();
});

it('leaves the session of a leader that it is not given', async () => {
  const other = started({});
  expect(await killLeftBehind(undefined, newMark())).toEqual({ killed: 0, survivors: 0 });
  expect(other.exitCode ?? other.signalCode).toBeNull();
});

it('says that something survives which comes again and again', async () => {
  const mark = newMark();
  const again = setInterval(() => started(markedEnvironment(mark)), 5);
  const { survivors } = await killLeftBehind(gone(), mark);
  clearInterval(again);
  expect(survivors).toBeGreaterThan(0);
});
