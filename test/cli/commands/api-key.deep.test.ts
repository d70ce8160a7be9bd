import { join } from 'node:path';
import { ensureBuilt } from '../../support/build';
import { startRefusingServer, type Refusal, type RefusingServer } from '../../support/refusing-server';
import { type Ended, runCliProcess } from '../process';
import { runCli } from '../run-cli';

/** As a key is: nothing of it may be told. */
const KEY = 'eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjE3MDAwMDAwMDB9.c2lnbmF0dXJl';
const CONFIG = join('deploy', 'agents', 'countersign.config.ts');

beforeAll(ensureBuilt);

let server: RefusingServer;
afterEach(() => server.stop());

/** Over a plain connection: what is tested is what the server says. A worker has a process of its own. */
const run = (args: string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  (args.includes('worker') ? runCliProcess : runCli)(args, {
    env: { TEMPORAL_ADDRESS: server.address, TEMPORAL_API_KEY: KEY, TEMPORAL_TLS: 'false', ...more },
  });

const commands: [string, string[]][] = [
  ['doctor', ['doctor']],
  ['run', ['run', 'clerk', 'hello']],
  ['worker', ['worker', CONFIG]],
];

describe.each<[string, Refusal]>([
  ['is expired', { status: 16, message: 'jwt expired' }],
  ['is refused as Temporal Cloud refuses it', { status: 16, message: 'Request unauthorized.' }],
  ['is refused as a server of ours refuses it', { status: 7, message: 'Request unauthorized.' }],
  [
    'is expired, for a server that greets everybody',
    { status: 16, message: 'jwt expired', answered: ['GetSystemInfo'] },
  ],
])('where the API key %s', (_, refusal) => {
  it.each(commands)('countersign %s says what to do', async (_command, args) => {
    server = await startRefusingServer(refusal);
    const { code, out, err } = await run(args);
    const told = out + err;
    expect(told).not.toContain('no Temporal server answers');
    expect(told).toMatch(/TEMPORAL_API_KEY/);
    expect(told).toContain(refusal.message);
    expect(told).not.toMatch(/^\s+at /m);
    expect(told).not.toContain(KEY);
    expect(code).toBe(5);
    expect([...server.keys]).toEqual([`Bearer ${KEY}`]);
  });
});

it.each(commands)('countersign %s keeps the key to itself where it tells everything', async (_, args) => {
  server = await startRefusingServer({ status: 16, message: 'jwt expired' });
  const { out, err } = await run(args, { COUNTERSIGN_DEBUG: '1' });
  expect(out + err).toContain('jwt expired');
  expect(out + err).not.toContain(KEY);
});

it.each(commands)('countersign --address … %s sends the key of the environment', async (_, args) => {
  server = await startRefusingServer({ status: 16, message: 'jwt expired' });
  await run(['--address', server.address, ...args], { TEMPORAL_ADDRESS: undefined });
  expect([...server.keys]).toEqual([`Bearer ${KEY}`]);
});
