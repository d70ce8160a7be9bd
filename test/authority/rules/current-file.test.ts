import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApprovers } from '../../../src/authority/rules/current-file';

const fileOf = (person: string): string => `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  ${person}: {}
rules:
  - name: default
    then: by_safety
`;

let directory = '';
let file = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-source-'));
  file = join(directory, 'approvers.yaml');
  await writeFile(file, fileOf('anna'));
  jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'queueMicrotask'] });
});
afterEach(async () => {
  jest.useRealTimers();
  await rm(directory, { recursive: true, force: true });
});

const opened = async () => {
  const warnings: string[] = [];
  const source = await openApprovers({ file, warn: (line) => void warnings.push(line) });
  const names = async (): Promise<string[]> => (await source.current()).people.map(({ name }) => name);
  return { names, warnings };
};

it('reads a file again once it has changed, and at most once a second', async () => {
  const { names, warnings } = await opened();
  await writeFile(file, fileOf('bobby'));
  expect(await names()).toEqual(['anna']);
  jest.advanceTimersByTime(1000);
  expect(await Promise.all([names(), names()])).toEqual([['bobby'], ['bobby']]);
  expect(warnings).toEqual([]);
});

it('reads a changed file where the time of day was set back', async () => {
  const { names } = await opened();
  await writeFile(file, fileOf('bobby'));
  jest.setSystemTime(-3_600_000);
  jest.advanceTimersByTime(1000);
  expect(await names()).toEqual(['bobby']);
});

it.each<[string, () => Promise<void>]>([
  ['with a mistake', () => writeFile(file, 'rules: [')],
  ['that is empty', () => writeFile(file, '')],
  ['that is gone', () => rm(file)],
])('keeps the last good one beside a file %s, and warns once', async (_, change) => {
  const { names, warnings } = await opened();
  await change();
  jest.advanceTimersByTime(1000);
  expect(await names()).toEqual(['anna']);
  jest.advanceTimersByTime(1000);
  expect(await names()).toEqual(['anna']);
  expect(warnings).toEqual([expect.stringContaining('the last good one')]);
  await writeFile(file, fileOf('cleo'));
  jest.advanceTimersByTime(1000);
  expect(await names()).toEqual(['cleo']);
});

it.each<[string, () => Promise<void>, string]>([
  ['a mistake', () => writeFile(file, 'rules: ['), 'config_invalid'],
  ['nothing to read', () => rm(file), 'file_failed'],
])('does not open with %s', async (_, change, code) => {
  await change();
  await expect(opened()).rejects.toMatchObject({ code });
});
