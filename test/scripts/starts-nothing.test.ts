import { execFile, execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { Runtime } from '@temporalio/worker';

const { execPath } = process;

it.each<[string, () => unknown]>([
  ['spawn', () => spawn(execPath)],
  ['execFile', () => execFile(execPath)],
  ['fork', () => fork(__filename)],
  ['spawnSync', () => spawnSync(execPath)],
  ['execFileSync', () => execFileSync(execPath)],
])('a unit test starts no program by %s, and reads where its file belongs', (_name, start) => {
  expect(start).toThrow(`a unit test starts ${execPath}: name its file x.deep.test.ts`);
});

it('a unit test loads no compiler', () => {
  expect(() => require('typescript')).toThrow('name its file x.house.test.ts');
});

it("a unit test starts no runtime of Temporal's SDK", () => {
  expect(() => Runtime.install({})).toThrow('name its file x.core.test.ts');
});
