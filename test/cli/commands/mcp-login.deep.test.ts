import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { addMcp } from '../../../src/cli/commands/mcp';
import { createContext } from '../../../src/cli/context';
import { addSharedOptions } from '../../../src/cli/flags';
import type { Keyboard } from '../../../src/cli/review/terminal';
import { Interrupted } from '../../../src/cli/review/terminal';
import { loginFile } from '../../../src/tools/mcp/logins';
import { ensureBuilt } from '../../support/build';
import { agree, oauthServers, type Pair } from '../../support/mcp-oauth';
import { scratchDirectory, writeScript } from '../../support/scratch';
import { until } from '../../support/until';
import { loginsUnder } from '../../tools/mcp/login-support';
import { testKeyboard } from '../keyboard';
import { testScreen } from '../support';

const scratch = scratchDirectory();
loginsUnder(scratch);
const servers = oauthServers();
beforeAll(ensureBuilt);

/** A pair of servers that the config names. */
const configured = async (more: object = {}): Promise<Pair> => {
  const pair = await servers.pair();
  const far = { url: pair.mcp.url, ...more };
  const options = JSON.stringify({ mcpServers: { far }, mcpLock: join(scratch(), 'mcp.lock') });
  writeFileSync(
    join(scratch(), 'config.ts'),
    `import { defineAgent, defineConfig, offlineModel } from 'countersign';
const agent = defineAgent({ name: 'clerk', instructions: 'x', model: offlineModel(), tools: ['far__*'] });
export default defineConfig({ agents: [agent], ...${options} });`,
  );
  return pair;
};

interface Started {
  printed: string[];
  end: Promise<unknown>;
  /** The address to agree at, once it is printed. */
  address(): Promise<string>;
}

const start = (
  args: string[],
  { keyboard, env = {} }: { keyboard?: Keyboard; env?: object } = {},
): Started => {
  const screen = testScreen();
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  const parts = {
    screen,
    env: { ...env },
    keyboard,
    options: () => program.opts(),
    typed: (text: string) => text,
  };
  addMcp(addSharedOptions(program), createContext({ ...parts, exitWith: () => undefined }));
  const line = ['mcp', ...args, '--config', join(scratch(), 'config.ts')];
  const end = program.parseAsync(line, { from: 'user' });
  end.catch(() => undefined);
  const found = (): string | undefined => screen.printed.find((one) => one.includes('/authorize?'))?.trim();
  return { printed: screen.printed, end, address: () => until('the address', found) };
};

const mcp = async (...args: string[]): Promise<string> => {
  const { printed, end } = start(args);
  await end;
  return printed.join('\n');
};

const LOGIN = ['login', 'far', '--no-browser'];

it('logs in once the person has agreed in a browser, and the server can be allowed then', async () => {
  const { mcp: far } = await configured();
  await expect(mcp('allow', 'far', '--yes')).rejects.toMatchObject({
    code: 'sign_in_failed',
    message: 'the MCP server far asks for a login; run `countersign mcp login far`',
  });
  const run = start(LOGIN);
  const answered = await fetch(await agree(await run.address()));
  expect(await answered.text()).toContain('has the answer');
  await run.end;
  const text = run.printed.join('\n');
  expect(text).toContain('Logged in to far at http://127.0.0.1');
  const { accessToken } = JSON.parse(readFileSync(loginFile(far), 'utf8'));
  expect(text).not.toContain(accessToken);
  expect(await mcp('allow', 'far', '--yes')).toContain('Allowed far with 1 tool');
  expect(await mcp()).toContain('far: somebody is logged in');
  expect(readFileSync(join(scratch(), 'mcp.lock'), 'utf8')).not.toContain(accessToken);
});

it('takes no answer that is not its own, and waits on', async () => {
  const { mcp: far } = await configured();
  const run = start(LOGIN);
  const right = await agree(await run.address());
  const wrong = new URL(right);
  wrong.searchParams.set('state', 'x'.repeat(43));
  expect((await fetch(wrong)).status).toBe(400);
  expect((await fetch(new URL('/other', right))).status).toBe(404);
  expect((await fetch(right, { method: 'POST' })).status).toBe(404);
  expect((await fetch(String(right).replace('127.0.0.1', 'localhost'))).status).toBe(404);
  expect(existsSync(loginFile(far))).toBe(false);
  await fetch(right);
  await run.end;
  expect(existsSync(loginFile(far))).toBe(true);
});

it('says why the person was refused', async () => {
  const { mcp: far, authorization } = await configured();
  authorization.redirect = { error: 'access_denied', error_description: 'Not you.', code: '' };
  const run = start(LOGIN);
  await fetch(await agree(await run.address()));
  await expect(run.end).rejects.toMatchObject({
    code: 'sign_in_failed',
    message: 'logging in to far failed: access_denied: Not you.',
  });
  expect(existsSync(loginFile(far))).toBe(false);
});

it('takes the address where a browser on another machine ended', async () => {
  const { mcp: far } = await configured();
  const keyboard = testKeyboard();
  const run = start(LOGIN, { keyboard });
  const right = await agree(await run.address());
  const question = 'Or paste here the address where the browser ended: ';
  await keyboard.answer(question, 'https://example.org/?state=x');
  await until('a note', () => run.printed.includes('That is not the address of this login.'));
  await keyboard.answer(question, right.href);
  await run.end;
  expect(existsSync(loginFile(far))).toBe(true);
});

it('ends with nothing at Ctrl-C', async () => {
  const { mcp: far } = await configured();
  const run = start(LOGIN);
  await run.address();
  process.emit('SIGINT');
  await expect(run.end).rejects.toThrow(Interrupted);
  expect(existsSync(loginFile(far))).toBe(false);
});

(process.platform === 'linux' ? it : it.skip)('opens the browser without a shell', async () => {
  const { mcp: far } = await configured();
  const bin = join(scratch(), 'bin');
  mkdirSync(bin);
  writeScript(join(bin, 'xdg-open'), `printf '%s\\n' "$@" > '${scratch()}/opened'`);
  const run = start(['login', 'far'], { env: { PATH: `${bin}:${process.env['PATH']}` } });
  const address = await run.address();
  const opened = join(scratch(), 'opened');
  await until('a browser', () => existsSync(opened) && readFileSync(opened, 'utf8') === `${address}\n`);
  await fetch(await agree(address));
  await run.end;
  expect(existsSync(loginFile(far))).toBe(true);
});

it('prints JSON', async () => {
  await configured();
  const run = start([...LOGIN, '--json', '--scopes', 'read', 'write']);
  await fetch(await agree(await run.address()));
  await run.end;
  expect(JSON.parse(run.printed.at(-1) ?? '')).toMatchObject({
    server: 'far',
    scopes: ['read', 'write'],
    renewed: true,
  });
  expect(JSON.parse(await mcp('login', 'far', '--forget', '--json'))).toEqual({
    server: 'far',
    revoked: 'yes',
  });
});

it('forgets a login', async () => {
  await configured();
  const run = start(LOGIN);
  await fetch(await agree(await run.address()));
  await run.end;
  expect(await mcp('login', 'far', '--forget')).toBe('far: the login is forgotten here and ended there.');
  expect(await mcp('login', 'far', '--forget')).toBe('far: nobody was logged in.');
});

it.each<[string, object, string[], string]>([
  ['a server with its own header', { headers: { AUTHORIZATION: 'Bearer x' } }, LOGIN, 'Authorization header'],
  ['a program', { url: undefined, command: 'server' }, LOGIN, 'runs on this machine'],
  ['a scope that is none', {}, [...LOGIN, '--scopes', 'a"b'], 'is not a scope'],
  ['a server that the config does not name', {}, ['login', 'other'], 'names no MCP server'],
])('refuses %s', async (_case, more, args, why) => {
  await configured(more);
  await expect(mcp(...args)).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(why) });
});

it('says in the list that a server wants a login, where the config says so', async () => {
  await configured({ oauth: { scopes: ['read'] } });
  expect(await mcp()).toContain('far: nobody is logged in on this machine; run `countersign mcp login far`');
});
