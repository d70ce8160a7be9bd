import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { bundleWithSources } from '../../../src/cli/replay/debug';
import { ensureBuilt, lib, root } from '../../support/build';
import { startCli } from '../process';
import { runCli } from '../run-cli';
import { attach } from './debugger';
import { until } from '../../support/until';

beforeAll(() => ensureBuilt());

const history = (kind: string): string => join('test', 'histories', `${kind}.json`);

const stopped: (() => unknown)[] = [];
afterEach(() => Promise.all(stopped.splice(0).map((stop) => stop())));

/** Starts a replay that waits for a debugger, and attaches one. */
const inspect = async (...args: string[]) => {
  const command = startCli(['replay', ...args, '--inspect', '--port', '0']);
  stopped.push(() => command.signal('SIGKILL'));
  const waiting = () => /waiting for a debugger at 127\.0\.0\.1:(\d+)/.exec(command.err()) ?? undefined;
  const [, port = ''] = await until('the debugger port', waiting);
  const debug = attach(port);
  stopped.push(debug.leave);
  return { command, debug };
};

/** The source of a line of the installed bundle, as a debugger finds it: by the map that is in the bundle. */
const sourceOf = (line: string | undefined): string => {
  const [, map = ''] =
    /sourceMappingURL=data:[^,]*,(.*)/.exec(readFileSync(lib('workflow-bundle.js'), 'utf8')) ?? [];
  const entry = new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString())).findEntry(
    Number(line) - 1,
    99,
  );
  return 'originalSource' in entry ? entry.originalSource : '';
};

const HISTORY_LENGTH = 'exec __TEMPORAL_ACTIVATOR__.info.historyLength';

it.each<[name: string, args: string[], startedId: number, source: RegExp]>([
  ['the first workflow task', [], 3, /agent-turn\.ts$/],
  ['an event that the code heard of', ['--at', '1#16'], 18, /workflows\/.*\.ts$/],
])(
  'stops at %s, and goes on to the end',
  async (_, args, startedId, source) => {
    const { command, debug } = await inspect(history('approved'), ...args);
    const [, line] = await debug.sees(/break in \S*workflow-bundle\.js:(\d+)/);
    expect(sourceOf(line)).toMatch(source);
    await debug.ask(HISTORY_LENGTH, new RegExp(`^(debug> )?${startedId}$`, 'm'));
    await debug.ask('cont', /debug> /);
    await until('the end of the replay', () => command.out().includes('1 run replays'));
    await debug.leave();
    expect(await command.ended).toMatchObject({ code: 0 });
  },
  60_000,
);

test('a debugger gets the texts of our sources, and none of a library', () => {
  const map = /sourceMappingURL=data:[^,]*,(.*)/.exec(bundleWithSources().code)?.[1] ?? '';
  const { sources, sourcesContent }: { sources: string[]; sourcesContent: (string | null)[] } = JSON.parse(
    Buffer.from(map, 'base64').toString(),
  );
  const textOf = (name: string) => sourcesContent[sources.findIndex((one) => one.endsWith(name))];
  expect(sourcesContent).toHaveLength(sources.length);
  expect(textOf('/src/workflows/agent-turn.ts')).toBe(
    readFileSync(join(root, 'src', 'workflows', 'agent-turn.ts'), 'utf8'),
  );
  expect(textOf('/workflow/src/internals.ts')).toBeNull();
});

test('workflows of somebody else stop in their first line', async () => {
  const own = ['--workflows', 'test/fixtures/endless-workflows.ts'];
  const { command, debug } = await inspect(history('denied'), ...own);
  await debug.sees(/break in \S*workflow-bundle\S*\.js:\d+[^]*>\s*\d+ [^\n]*historyLength === 21/);
  await debug.ask(HISTORY_LENGTH, /^(debug> )?3$/m);
  await debug.ask('cont', /debug> /);
  await until('the end of the replay', () => command.out().includes('1 run replays'));
  await debug.leave();
  expect(await command.ended).toMatchObject({ code: 0 });
});

test('a port that is taken is reported, with what to do', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const port = address === null || typeof address === 'string' ? '' : String(address.port);
  const { code, out, err } = await runCli(['replay', history('plain'), '--inspect', '--port', port]);
  taken.close();
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err.split('\n')).toEqual([
    `--port ${port}: a debugger cannot listen there`,
    'Name a port that is free, or 0 for any.',
    '[usage]',
    '',
  ]);
});

it.each<[string, string[], RegExp]>([
  ['a batch', ['--inspect', '--last', '3'], /--inspect takes one turn[^]*\[usage\]/],
  ['--at alone', [history('plain'), '--at', '#5'], /--at goes with --inspect[^]*\[usage\]/],
  [
    'a deadline',
    [history('plain'), '--inspect', '--task-timeout', '5s'],
    /--task-timeout goes without --inspect[^]*\[usage\]/,
  ],
  ['no point', [history('plain'), '--inspect', '--at', 'x'], /"x" is not a point of a turn[^]*\[usage\]/],
  [
    'no port',
    [history('plain'), '--inspect', '--port', 'x'],
    /--port x: this is not a whole number[^]*\[usage\]/,
  ],
])('%s is a mistake', async (_, args, message) => {
  const { code, out, err } = await runCli(['replay', ...args]);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(message);
});
