import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { startCommandOf } from '../../../src/cli/commands/worker';
import { freePorts } from '../../../src/engine/server-args';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineConfig } from '../../../src/tools/define-config';
import { ensureBuilt } from '../../support/build';
import { scratchDirectory } from '../../support/scratch';
import { testAddress } from '../../support/server';
import { runCliProcess } from '../process';

beforeAll(ensureBuilt);

const scratch = scratchDirectory();
const config = join('deploy', 'agents', 'countersign.config.ts');

it.each([
  [{}, 'run clerk "…"'],
  [{ taskQueue: 'my queue' }, `run clerk "…" --queue 'my queue'`],
])('the command that starts a turn of a config with %j can be typed anywhere', (options, command) => {
  const clerk = defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools: [] });
  expect(startCommandOf(defineConfig({ agents: [clerk], ...options }))).toBe(command);
});

it('a worker of a server that keeps silent says what it waits for, and ends', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = Object.assign({ port: 0 }, server.address());
  const address = `127.0.0.1:${port}`;
  const { code, out, err } = await runCliProcess(['worker', config, '--address', address]);
  expect({ code, out }).toEqual({ code: 5, out: '' });
  expect(err.split('\n')).toEqual([
    `waiting for the Temporal server at ${address}`,
    `no Temporal server answers at ${address}`,
    expect.stringContaining('check TEMPORAL_ADDRESS'),
    '[no_server]',
    '',
  ]);
  for (const socket of sockets) socket.destroy();
  server.close();
});

it.each([
  ['--profile', ['--profile', 'far'], {}],
  ['TEMPORAL_PROFILE', [], { TEMPORAL_PROFILE: 'far' }],
])('a worker takes the server of the profile that %s names', async (_, args, env) => {
  const address = `127.0.0.1:${String(await freePorts(1))}`;
  const file = join(scratch(), 'temporal.toml');
  writeFileSync(file, `[profile.far]\naddress = "${address}"\n`);
  const ran = await runCliProcess(['worker', config, ...args], {
    env: { TEMPORAL_CONFIG_FILE: file, ...env },
  });
  expect(ran).toMatchObject({
    code: 5,
    err: expect.stringContaining(`no Temporal server answers at ${address}`),
  });
});

it('a worker says so of a profile that is not there', async () => {
  const file = join(scratch(), 'temporal.toml');
  writeFileSync(file, '[profile.default]\naddress = "127.0.0.1:1"\n');
  const ran = await runCliProcess(['worker', config, '--profile', 'far'], {
    env: { TEMPORAL_CONFIG_FILE: file },
  });
  expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(/far[^]*\[config_invalid\]/) });
});

it.each([
  ['--metrics', /^the metrics cannot be served at (\S+): .*in use/m],
  ['--health', /^cannot listen on (\S+) for health: the port is taken$/m],
])('a worker whose port for %s is taken says so, and ends', async (flag, message) => {
  const taken = createServer();
  await new Promise<void>((ready) => taken.listen(0, '127.0.0.1', ready));
  const { port } = Object.assign({ port: 0 }, taken.address());
  const args = ['worker', config, '--address', testAddress(), flag, `127.0.0.1:${port}`];
  const { code, out, err } = await runCliProcess(args);
  taken.close();
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(message.exec(err)?.[1]).toBe(`127.0.0.1:${port}`);
  expect(err).toMatch(/\nChoose another address.*\n\[config_invalid\]\n$/);
});
