import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../src/engine/server-args';
import { ensureBuilt, lib } from '../../support/build';
import { testAddress } from '../../support/server';
import { eventsIn } from '../../server/support';
import { startCli, type RunningCommand } from '../process';
import { runCli } from '../run-cli';
import { until } from '../../support/until';

let directory: string;
const running: RunningCommand[] = [];

beforeAll(async () => {
  ensureBuilt();
  directory = await mkdtemp(join(tmpdir(), 'countersign-cli-web-'));
});

afterAll(async () => {
  for (const command of running) command.signal('SIGTERM');
  await Promise.all(running.map(({ ended }) => ended));
  await rm(directory, { recursive: true, force: true });
});

const start = async (...args: string[]): Promise<RunningCommand> => {
  const command = startCli(args, { cwd: directory, env: { XDG_STATE_HOME: directory } });
  running.push(command);
  await Promise.race([
    until('the last line', () => command.out().includes('Ctrl-C')),
    command.ended.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  return command;
};

/** The link that a command printed, on a line of its own. */
const linkOf = (text: string): { url: string; code: string } => {
  const [, url = '', code = ''] = /^ {2}(http:\/\/127\.0\.0\.1:\d+)\/#code=([\w-]+)$/m.exec(text) ?? [];
  return { url, code };
};

const signIn = async ({
  url,
  code,
}: {
  url: string;
  code: string;
}): Promise<{ status: number; cookie: string }> => {
  const headers = { 'content-type': 'application/json', origin: url };
  const response = await fetch(`${url}/api/session`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ code }) },
  });
  return { status: response.status, cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '' };
};

describe('web', () => {
  it('opens the web inbox, lets in by its link, and closes with its streams on Ctrl-C', async () => {
    const web = await start('web', '--port', '0', '--address', testAddress());
    const link = linkOf(web.out());
    const { status, cookie } = await signIn(link);
    expect(status).toBe(200);
    expect((await fetch(`${link.url}/api/inbox`, { headers: { cookie } })).status).toBe(200);
    expect((await fetch(`${link.url}/api/inbox`)).status).toBe(401);
    const stream = eventsIn(await fetch(`${link.url}/api/inbox/events`, { headers: { cookie } }));
    expect((await stream.next()).value).toMatchObject({ event: 'waiting' });
    expect((await signIn(link)).status).toBe(401);
    web.signal('SIGINT');
    for await (const { event } of stream) expect(event).toBe('inbox');
    const { code, err } = await web.ended;
    expect(code).toBe(0);
    expect(err).toContain('web inbox closed');
    const fresh = linkOf(err);
    expect(fresh.url).toBe(link.url);
    expect(fresh.code).not.toBe(link.code);
  });

  it.each<[string[], number, RegExp]>([
    [['--host', '0.0.0.0'], 2, /other machines reach it, and it has no users/],
    [['--port', 'http'], 2, /--port http/],
    [['--port', '65536'], 2, /cannot listen/],
    [['--undo', 'soon'], 2, /--undo soon/],
    [['--address', '127.0.0.1:1', '--timeout', '1s'], 5, /no Temporal server answers/],
  ])('%j ends with %i', async (args, code, told) => {
    const at = args.includes('--address') ? [] : ['--address', testAddress()];
    const env = { XDG_STATE_HOME: join(directory, 'empty') };
    const ended = await runCli(['web', ...args, ...at], { env });
    expect(ended.code).toBe(code);
    expect(ended.err).toMatch(told);
  });
});

describe('dev', () => {
  beforeAll(async () => {
    const text = `const { defineAgent, offlineModel } = require(${JSON.stringify(lib('index.js'))});
      module.exports = defineAgent({ name: 'clerk', instructions: 'x', model: offlineModel(), tools: [] });`;
    await writeFile(join(directory, 'agent.cjs'), text);
  });

  it('opens the web inbox beside the worker', async () => {
    const [port = 0] = await freePorts(1);
    const dev = await start('dev', 'agent.cjs', '--web-port', String(port), '--address', testAddress());
    const link = linkOf(dev.out());
    expect(link.url).toBe(`http://127.0.0.1:${port}`);
    expect((await signIn(link)).status).toBe(200);
    dev.signal('SIGTERM');
    expect((await dev.ended).code).toBe(0);
  });

  it('leaves it out on request', async () => {
    const dev = await start('dev', 'agent.cjs', '--no-web', '--address', testAddress());
    expect(dev.out()).not.toContain('#code=');
    dev.signal('SIGINT');
    expect((await dev.ended).code).toBe(0);
  });
});
