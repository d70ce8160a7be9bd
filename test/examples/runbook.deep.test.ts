import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../support/build';
import { startExample, type RunningExample } from './start-example';
import { approveSeen } from '../cli/saw';
import { until } from '../support/until';

const LOGS = join(root, 'examples', 'runbook', 'service', 'logs');

let runbook: RunningExample;

beforeAll(async () => {
  runbook = await startExample('runbook', 'SERVICE');
});

beforeEach(async () => {
  await rm(join(runbook.folder, 'logs'), { recursive: true });
  await cp(LOGS, join(runbook.folder, 'logs'), { recursive: true });
});

afterAll(() => runbook.stop());

/** The logs by name, as they stand on disk. */
const logs = async (folder = join(runbook.folder, 'logs')): Promise<Record<string, string>> => {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
  );
};

it('runs what was approved, as it was left by the person who approved it', async () => {
  const before = await logs(LOGS);
  const turn = await runbook.waiting('operator', 'run bin/status then run bin/rotate-logs 1');
  expect((await approveSeen(runbook.cli, `${turn}/1.1`)).code).toBe(0);
  const told = await waitForSecond(turn);
  expect(told).toContain('lines: 3');
  expect(await logs()).toEqual(before);
  const edited = ['--set', 'argv.1="3"', '--reason', 'keep more'];
  expect((await approveSeen(runbook.cli, `${turn}/2.1`, ...edited, '--yes')).code).toBe(0);
  expect(await runbook.end(turn)).toContain('at most 3 old ones are kept');
  const { 'app.txt': log = '', 'app.1.txt': old = '' } = before;
  expect(await logs()).toEqual({ 'app.txt': '', 'app.1.txt': log, 'app.2.txt': old });
});

it('runs nothing that was denied', async () => {
  const turn = await runbook.waiting('operator', 'run bin/rotate-logs 1');
  expect((await runbook.cli('deny', `${turn}/1.1`, '--reason', 'not during business hours')).code).toBe(0);
  expect(await runbook.end(turn)).toContain('not during business hours');
  expect(await logs()).toEqual(await logs(LOGS));
});

it('asks nobody about a program that the runbook does not know, and refuses one that an edit brings in', async () => {
  const { code, out } = await runbook.cli('run', 'operator', 'run rm -r logs');
  expect(code).toBe(0);
  expect(out).toContain('the runbook knows bin/status, bin/rotate-logs, tail, df and nothing else');
  const turn = await runbook.waiting('operator', 'run bin/status');
  for (const [args, why] of [
    [{ argv: ['rm', '-r', 'logs'] }, 'nothing else'],
    [{ argv: ['bin/status'], cwd: 'logs' }, 'in the folder of the service only'],
  ] as const) {
    const brought = await approveSeen(runbook.cli, `${turn}/1.1`, '--args', JSON.stringify(args), '--yes');
    expect(brought).toMatchObject({ code: 3, err: expect.stringContaining(why) });
  }
  expect((await runbook.cli('deny', `${turn}/1.1`, '--reason', 'not that')).code).toBe(0);
  await runbook.end(turn);
  expect(await logs()).toEqual(await logs(LOGS));
});

/** What the turn tells once its second command waits. */
async function waitForSecond(turn: string): Promise<string> {
  return until('the second request', async () => {
    const { out } = await runbook.cli('show', turn);
    return out.includes(`approve ${turn}/2.1`) && out;
  });
}
