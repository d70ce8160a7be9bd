import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { startCli, type Ended, type RunningCommand } from './process';
import { runCli } from './run-cli';

/** A worker that `countersign worker` runs, and a shell beside it. */
export interface CliWorker {
  /** Where its config is. */
  directory(): string;
  cli(...args: string[]): Promise<Ended>;
}

/** One with this `agent.ts`, for the test file that calls this. */
export function useCliWorker(config: string): CliWorker {
  let directory = '';
  let worker: RunningCommand;
  const options = () => ({
    env: { TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: directory, COLUMNS: '120' },
    cwd: directory,
  });
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countersign-cli-'));
    await writeFile(join(directory, 'agent.ts'), config);
    worker = startCli(['worker', 'agent.ts'], options());
    await listens(worker);
  });
  afterAll(async () => {
    worker.signal('SIGTERM');
    await worker.ended;
    await rm(directory, { recursive: true, force: true });
  });
  return { directory: () => directory, cli: (...args) => runCli(args, options()) };
}

/** Waits until `dev` or `worker` says that it runs. */
export async function listens(command: RunningCommand): Promise<void> {
  const early = command.ended.then(({ err }) => Promise.reject(new Error(err)));
  await Promise.race([until('the worker', () => command.out().includes('Ctrl-C')), early]);
  early.catch(() => undefined);
}
