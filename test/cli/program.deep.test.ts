import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '../../src/engine/server-args';
import { ensureBuilt } from '../support/build';
import { scratchDirectory } from '../support/scratch';
import { runCliProcess, type RunOptions } from './process';
import { runCli } from './run-cli';

const scratch = scratchDirectory();
beforeAll(ensureBuilt);

/** Nothing listens there: the port was free a moment ago. */
const nowhere = async (): Promise<string[]> => [
  ...['--address', `127.0.0.1:${String(await freePorts(1))}`],
  ...['--timeout', '1'],
];

it.each<[string[], number, RunOptions]>([
  [['--version'], 0, {}],
  [['approve', '--help'], 0, { env: { COLUMNS: '40' } }],
  [[], 2, {}],
  [['show', 'a/b/c'], 2, { env: { FORCE_COLOR: '1' } }],
  [['answer', 't/1.1', '--content', '@-'], 2, { input: '[1]' }],
  [['show', 'turn.json'], 1, {}],
])('in a process of its own, %j does what it does here', async (args, code, options) => {
  writeFileSync(join(scratch(), 'turn.json'), '{}');
  const given = { cwd: scratch(), ...options };
  const here = await runCli(args, given);
  expect(here.code).toBe(code);
  expect(await runCliProcess(args, given)).toEqual(here);
});

it('ends with the exit code of a command that found something', async () => {
  const args = ['doctor', ...(await nowhere()), '--json'];
  const { code, out } = await runCliProcess(args);
  expect(code).toBe(5);
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ name: 'server', state: 'bad', todo: expect.any(String) }),
  );
  expect(await runCli(args)).toMatchObject({ code });
});

it('ends by itself where something listens that never answers', async () => {
  const silent = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = Object.assign({ port: 0 }, silent.address());
  const { code } = await runCliProcess(['inbox', '--address', `127.0.0.1:${port}`, '--timeout', '1']);
  expect(code).toBe(5);
  await new Promise((resolve) => silent.close(resolve));
});
