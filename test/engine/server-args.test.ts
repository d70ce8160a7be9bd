import { createServer } from 'node:net';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import {
  ATTRIBUTE_TYPES,
  DYNAMIC_CONFIG,
  freePorts,
  isFree,
  serverArgs,
  SIGNAL_LIMIT,
} from '../../src/engine/server-args';

const PLAN = {
  port: 1,
  httpPort: 2,
  metricsPort: 3,
  uiPort: 4,
  dbFile: '/d.db',
  namespace: 'n',
  dynamicConfig: [],
  log: 'warn',
} as const;

/** The values given for one flag. */
const valuesOf = (args: string[], flag: string): string[] =>
  args.filter((_value, index) => args[index - 1] === flag);

it('sets the four values without which each transition waits 45 ms', () => {
  expect(valuesOf(serverArgs(PLAN), '--dynamic-config-value')).toEqual([...DYNAMIC_CONFIG, SIGNAL_LIMIT]);
  expect(DYNAMIC_CONFIG).toHaveLength(4);
});

it('lets further dynamic configuration win over ours', () => {
  const args = serverArgs({ ...PLAN, dynamicConfig: ['a=1'] });
  expect(valuesOf(args, '--dynamic-config-value')).toEqual([...DYNAMIC_CONFIG, SIGNAL_LIMIT, 'a=1']);
});

it('registers every search attribute of ours', () => {
  expect(Object.keys(ATTRIBUTE_TYPES).sort()).toEqual(Object.values(SEARCH_ATTRIBUTES).sort());
  expect(valuesOf(serverArgs(PLAN), '--search-attribute')).toContain('CountersignTools=KeywordList');
});

it.each([
  ['--ip', ['127.0.0.1']],
  ['--port', ['1']],
  ['--http-port', ['2']],
  ['--metrics-port', ['3']],
  ['--ui-port', ['4']],
  ['--namespace', ['n']],
  ['--log-level', ['warn']],
  ['--db-filename', ['/d.db']],
  ['--sqlite-pragma', ['journal_mode=WAL', 'synchronous=FULL']],
])('gives %s %j', (flag, values) => {
  expect(valuesOf(serverArgs(PLAN), flag)).toEqual(values);
});

it('has no UI when headless and no file when in memory', () => {
  const args = serverArgs({ ...PLAN, uiPort: undefined, dbFile: undefined });
  expect(args).toContain('--headless');
  expect(args.filter((arg) => /ui-port|db-filename|sqlite/.test(arg))).toEqual([]);
});

it('finds ports that differ', async () => {
  const ports = await freePorts(8);
  expect(new Set(ports).size).toBe(8);
});

it('tells a free port from a taken one', async () => {
  const [port = 0] = await freePorts(1);
  expect(await isFree(port)).toBe(true);
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve));
  expect(await isFree(port)).toBe(false);
  await new Promise((resolve) => holder.close(resolve));
});
