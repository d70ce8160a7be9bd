import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../support/build';
import { snippetsOf } from '../../support/docs';
import { runOnNode22 } from '../../support/node22';
import { startOwnServer } from '../../support/server';
import { isThorough } from '../../support/thorough';

const run = promisify(execFile);
const page = 'docs/plugin.md';
const recipes = snippetsOf('js', [page]).map(({ text }) => text);

/** What these agents pin to an older version: here each is the checkout's own. */
const SDK = ['activity', 'client', 'common', 'envconfig', 'proto', 'worker', 'workflow'];
const PACKAGES = {
  '@temporalio/openai-agents': '1.23.0',
  '@openai/agents-core': '0.11.8',
  '@openai/agents-openai': '0.11.8',
  openai: '^6.35.0',
  '@opentelemetry/sdk-trace-base': '^1.25.1',
  '@temporalio/ai-sdk': '1.23.0',
  ai: '7.0.173',
  '@ai-sdk/mcp': '^2.0.0',
  '@ai-sdk/provider': '^4.0.0',
  zod: '^4.0.0',
};

let folder = '';
let server: Awaited<ReturnType<typeof startOwnServer>>;

/** Installs the agents without the SDK, and puts the checkout and its SDK beside them. */
async function install(): Promise<string> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-agents-')));
  mkdirSync(join(place, 'sdk'));
  writeFileSync(join(place, 'sdk', 'package.json'), '{ "name": "sdk", "version": "1.24.0" }');
  const named = (to: (name: string) => string): Record<string, string> =>
    Object.fromEntries(SDK.map((name) => [`@temporalio/${name}`, to(name)]));
  const dependencies = { ...PACKAGES, ...named(() => 'file:./sdk') };
  const overrides = named((name) => `$@temporalio/${name}`);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', ...quiet, '--fetch-timeout=20000', '--fetch-retries=5'], { cwd: place });
  for (const name of ['countersign', ...SDK.map((one) => `@temporalio/${one}`)]) {
    const link = join(place, 'node_modules', name);
    rmSync(link, { force: true });
    symlinkSync(name === 'countersign' ? root : join(root, 'node_modules', name), link);
  }
  cpSync(join(root, 'test', 'fixtures', 'plugin-users'), place, { recursive: true });
  for (const [name, text] of [
    ['openai', recipes[0] ?? ''],
    ['ai-sdk', recipes[1] ?? ''],
  ]) {
    writeFileSync(join(place, `${name}-recipe.mjs`), text ?? '');
    writeFileSync(join(place, `${name}-recipe-soon.mjs`), (text ?? '').replace("'1 day'", "'1 second'"));
  }
  return place;
}

// They come from the registry, and some 100 packages with them.
(isThorough ? describe : describe.skip)('an agent of a plugin of Temporal, by the recipe of its page', () => {
  beforeAll(async () => {
    [folder, server] = await Promise.all([install(), startOwnServer()]);
    const cli = join(root, 'bin', 'countersign.js');
    await run(process.execPath, [cli, 'doctor', '--setup', '--address', server.address]);
  }, 240_000);

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a script and returns what each case was told, and what really happened. */
  const drive = async (script: string, start: (...args: string[]) => Promise<string>): Promise<object> => {
    const effects = join(folder, `${script}.effects`);
    const mcpServer = join(root, 'test', 'support', 'mcp-server.cjs');
    const out = await start(join(folder, script), server.address, effects, mcpServer);
    const [, told = '{}'] = /^told (.*)$/m.exec(out) ?? [];
    const happened = readFileSync(effects, 'utf8').trim().split('\n');
    return { ...JSON.parse(told), happened };
  };

  it('activityAsTool: approved, edited, denied, expired; each replays', async () => {
    const told = await drive('openai.mjs', async (...args) => {
      const { stdout } = await run(process.execPath, args, { cwd: folder });
      return stdout;
    });
    expect(told).toEqual({
      approve: asked('refund', 'done', expect.stringContaining('paid 900')),
      edit: asked('refund', 'done', expect.stringMatching(/ann changed.*half.*900 → 700.*paid 700/)),
      deny: asked('refund', 'denied', expect.stringContaining('ann denied this call: not this one')),
      expire: asked('refund', 'expired', expect.stringMatching(/[Nn]obody decided/)),
      happened: ['900', '700'],
    });
  }, 300_000);

  it('generateText with a tool and a tool of an MCP server: approved, edited, denied, expired; each replays', async () => {
    const told = await drive('ai-sdk.mjs', (file, ...args) =>
      runOnNode22(relative(join(root, 'test'), file), ...args),
    );
    const both = (tool: string, of: string): object => ({
      [`${tool} approve`]: asked(tool, 'done', expect.stringContaining(`${of}900`)),
      [`${tool} edit`]: asked(tool, 'done', expect.stringMatching(new RegExp(`ann changed.*700.*${of}700`))),
      [`${tool} deny`]: asked(tool, 'denied', expect.stringContaining('ann denied this call: not this one')),
      [`${tool} expire`]: asked(tool, 'expired', expect.stringMatching(/[Nn]obody decided/)),
    });
    expect(told).toEqual({
      ...both('refund', 'paid '),
      ...both('act', ''),
      happened: ['refund 900', 'refund 700', 'echo', 'echo'],
    });
  }, 300_000);
});

function asked(tool: string, phase: string, answer: unknown): object {
  return { tool, phase, answer, proposed: expect.anything() };
}
