import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NODE_ENV } from '../../scripts/nodes.cjs';
import { freePorts } from '../../src/engine/server-args';
import { root } from '../support/build';
import { snippetsOf } from '../support/docs';
import { node22 } from '../support/node22';
import { startOwnServer, testCli } from '../support/server';
import { isThorough } from '../support/thorough';
import { installPackage, run, type Installed } from './installed';
import { until } from '../support/until';

let installed: Installed;
let server: Awaited<ReturnType<typeof startOwnServer>>;

beforeAll(async () => {
  [installed, server] = await Promise.all([installPackage(), startOwnServer()]);
}, 240_000);

afterAll(async () => {
  await server.stop();
  rmSync(installed.app, { recursive: true, force: true });
});

const ENTRIES: Record<string, string[]> = {
  countersign: ['defineAgent', 'defineTool', 'offlineModel', 'startWorker'],
  'countersign/client': ['connect', 'CountersignError', 'viewOf'],
  'countersign/plugin': ['CountersignPlugin'],
  'countersign/workflow': ['agentTurn', 'createGate'],
  'countersign/testing': [
    'approveNext',
    'denyNext',
    'scriptedModel',
    'startTestEnvironment',
    'startTestServer',
  ],
};

describe('what is packed', () => {
  it.each(['bin/countersign.js', 'lib/workflow-bundle.js', 'lib/index.d.ts', 'LICENSE', 'README.md'])(
    'has %s',
    (file) => {
      expect(installed.files).toContain(file);
    },
  );

  it('has nothing that only a clone needs', () => {
    const strangers = /^(src|test|scripts|examples|bench|deploy)\/|\.map$|build-hash|cli\/demo|\.test\.js$/;
    expect(installed.files.filter((file) => strangers.test(file))).toEqual([]);
    expect(installed.files.length).toBeLessThan(1040);
  });

  it('takes at most 6 MB on a disk', () => {
    expect(installed.bytes).toBeLessThan(6_000_000);
  });
});

/** Programs that look for the names of every entry. */
const LOOKS: Record<string, (entry: string, names: readonly string[], at: number) => string> = {
  require: (entry, names) =>
    `{ const m = require('${entry}'); for (const n of ${JSON.stringify(names)}) if (!(n in m)) throw new Error(n); }`,
  'import, as a whole and by name': (entry, names, at) =>
    `import * as m${at} from '${entry}'; for (const n of ${JSON.stringify(names)}) if (!(n in m${at})) throw new Error(n); ` +
    `import { ${names.join(', ')} } from '${entry}'; void [${names.join(', ')}];`,
};

it.each(Object.keys(LOOKS))('every entry can be had by %s', async (way) => {
  const program = Object.entries(ENTRIES).map(([entry, names], at) => LOOKS[way]?.(entry, names, at) ?? '');
  const kind = way === 'require' ? [] : ['--input-type=module'];
  const looked = await installed.node(...kind, '-e', program.join('\n'));
  expect(looked).toEqual({ code: 0, out: '', err: '' });
});

it('lets an approver load nothing native', async () => {
  const native = `Object.keys(require.cache).filter((f) => /\\.node$|@temporalio.(worker|core-bridge)/.test(f))`;
  const { out } = await installed.node('-e', `require('countersign/client'); console.log(${native}.length)`);
  expect(out).toBe('0\n');
});

it('replays a history from JSON, which takes one protobufjs for all of Temporal', async () => {
  const { code, out, err } = await installed.node('replay.cjs', server.address);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toEqual(expect.arrayContaining(['request_opened', 'decision', 'turn_ended']));
});

it("gates a call of somebody's own workflow", async () => {
  const { code, out, err } = await installed.node('own-workflow.cjs', server.address);
  expect({ code, out: out.trim() }).toEqual({ code: 0, out: expect.stringContaining('refunded 17 true') });
  expect(out).toContain('ann denied this call: too late. Nothing ran.');
  expect(err).not.toMatch(/error/i);
});

it.each(['esbuild', 'webpack'])('a client and a gate can be bundled by %s', async (bundler) => {
  const esbuild = require.resolve('esbuild');
  const { code, out, err } = await installed.node('bundled.cjs', server.address, bundler, esbuild);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toEqual({ lists: true, gate: 'function', warnings: [] });
});

describe('the agent of the README', () => {
  let worker: ChildProcess;
  beforeAll(() => {
    copyFileSync(join(root, 'examples', 'my-agent.ts'), join(installed.app, 'my-agent.ts'));
    mkdirSync(join(installed.app, 'files'));
    const bin = join('node_modules', 'countersign', 'bin', 'countersign.js');
    const args = [bin, 'worker', 'my-agent.ts', '--address', server.address];
    const env = { ...process.env, WORKSPACE: 'files', XDG_STATE_HOME: join(installed.app, 'state') };
    worker = spawn(process.execPath, args, { cwd: installed.app, env, stdio: 'ignore' });
  });
  afterAll(async () => {
    worker.kill('SIGTERM');
    if (worker.exitCode === null) await once(worker, 'exit');
  });

  const ask = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await installed.countersign(...args, '--address', server.address);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };

  it('waits for a person, runs what was approved, and is not more than 25 lines', async () => {
    expect(
      readFileSync(join(root, 'examples', 'my-agent.ts'), 'utf8')
        .trim()
        .split('\n').length,
    ).toBeLessThan(26);
    const turn = (await ask('run', 'clerk', 'create hello.txt with content "hello"', '--detach')).trim();
    const item = await until('the request', async () => {
      const items: { turn: string; callId: string; seenDigest: string }[] = JSON.parse(
        await ask('inbox', '--json'),
      );
      return items.find((one) => one.turn === turn);
    });
    expect(existsSync(join(installed.app, 'files', 'hello.txt'))).toBe(false);
    await ask('approve', `${turn}/${item.callId}`, '--saw', item.seenDigest.slice(0, 32));
    await ask('show', turn, '--follow');
    expect(readFileSync(join(installed.app, 'files', 'hello.txt'), 'utf8')).toBe('hello');
  });
});

describe('countersign init', () => {
  const project = (): string => join(installed.app, 'My Clerk');

  beforeAll(async () => {
    const { code, out } = await installed.countersign('init', 'My Clerk');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("cd 'My Clerk'") });
  });

  it('writes a project whose versions and name fit', () => {
    const manifest = JSON.parse(readFileSync(join(project(), 'package.json'), 'utf8'));
    const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    // The package was installed from a tarball, so the project has that tarball.
    const countersign = `file:countersign-${own.version}.tgz`;
    expect(manifest).toMatchObject({ name: 'my-clerk', dependencies: { countersign } });
    expect(JSON.stringify(manifest)).not.toContain('{{');
    expect(readFileSync(join(project(), '.gitignore'), 'utf8')).toContain('node_modules/');
  });

  it('writes a project whose types fit', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    expect(await run(process.execPath, [tsc, '-p', '.'], { cwd: project() })).toEqual({
      code: 0,
      out: '',
      err: '',
    });
  });

  it('writes a project whose own test passes on a server that it starts itself', async () => {
    const env = { COUNTERSIGN_TEST_ADDRESS: '', COUNTERSIGN_TEMPORAL_CLI: testCli(), NODE_OPTIONS: '' };
    const { code, out } = await run('npm', ['test'], { cwd: project(), env });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/pass 2\n.*fail 0/) });
  });

  it.each([
    [
      'a directory with something in it',
      'My Clerk',
      'My Clerk is not empty: it has .gitignore, README.md, agent.ts, …',
    ],
    ['a file', 'package.json', 'cannot use package.json: a part of the path is a file'],
  ])('refuses %s and overwrites nothing', async (_, name, message) => {
    const before = readFileSync(join(project(), 'agent.ts'), 'utf8');
    const { code, err } = await installed.countersign('init', name);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(readFileSync(join(project(), 'agent.ts'), 'utf8')).toBe(before);
  });
});

describe('says what to do, without a stack', () => {
  const expectToSay = ({ code, err }: { code: number; err: string }, ...parts: string[]): void => {
    expect(code).toBeGreaterThan(0);
    for (const part of parts) expect(err).toContain(part);
    expect(err).not.toMatch(/^\s+at /m);
  };
  const bin = join('node_modules', 'countersign', 'bin', 'countersign.js');

  it('where Node is too old', async () => {
    const fake = `Object.defineProperty(process.versions, 'node', { value: '18.20.0' })`;
    writeFileSync(join(installed.app, 'old-node.cjs'), fake);
    const ran = await installed.node('-r', './old-node.cjs', bin, '--help');
    expectToSay(ran, 'Node.js 18.20.0 is too old; 20.19 or newer is needed');
  });

  it('where a package is missing', async () => {
    const commander = join(installed.app, 'node_modules', 'commander');
    renameSync(commander, `${commander}-gone`);
    try {
      expectToSay(
        await installed.countersign('--help'),
        'commander is not installed. Run `npm install` again',
      );
    } finally {
      renameSync(`${commander}-gone`, commander);
    }
  });

  it('where a package is missing that only some commands need', async () => {
    const client = join(installed.app, 'node_modules', '@temporalio', 'client');
    renameSync(client, `${client}-gone`);
    try {
      const ran = await installed.countersign('inbox');
      const all = /npm install @temporalio\/activity@~1\.24\.0 .*@temporalio\/workflow@~1\.24\.0 protobufjs@/;
      expectToSay(ran, '@temporalio/client is not installed', '[not_installed]');
      expect(ran.err).toMatch(all);
      expect((await installed.countersign('inbox', '--help')).code).toBe(0);
    } finally {
      renameSync(`${client}-gone`, client);
    }
  });

  it('where a config imports what is not installed', async () => {
    writeFileSync(join(installed.app, 'missing.ts'), `import x from 'no-such-package';\nexport default x;\n`);
    expectToSay(
      await installed.countersign('dev', 'missing.ts'),
      "Cannot find module 'no-such-package'",
      'npm install no-such-package',
    );
  });

  it('where a port is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const ran = await installed.countersign('dev', 'my-agent.ts', '--port', String(port));
    expectToSay(ran, `port ${port} is taken`, 'Choose another port');
    holder.close();
  });

  /** A disk of a test's own takes a namespace of mounts, which not every machine gives. */
  const tiny = (script: string): string[] => [
    '-rm',
    'sh',
    '-c',
    `mount -t tmpfs -o size=64k tmpfs "$1" && ${script}`,
    'sh',
  ];
  const hasDisks = ((): boolean => {
    try {
      execFileSync('unshare', [...tiny('true'), '/mnt'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  })();

  (hasDisks ? it : it.skip)('where the disk is full at the first start', async () => {
    const disk = join(installed.app, 'disk');
    const [port] = await freePorts(1);
    mkdirSync(disk);
    const dev = 'exec "$2" "$3" dev my-agent.ts --port "$4" --data-dir "$1/data"';
    const ran = await run('unshare', [...tiny(dev), disk, process.execPath, bin, String(port)], {
      cwd: installed.app,
    });
    expectToSay(ran, `cannot be kept in ${disk}/data: the disk is full`, '--data-dir');
  });
});

/** What our page tells whoever has a package that asks for an exact version of the SDK. */
function documentedOverrides(): { overrides: Record<string, string> } {
  const page = readFileSync(join(root, 'docs', 'errors', 'not_installed.md'), 'utf8');
  const [, block = ''] = /```json\n([^`]+)```/.exec(page) ?? [];
  const manifest: ReturnType<typeof documentedOverrides> = JSON.parse(block);
  return manifest;
}

const PLUGINS = [
  '@temporalio/openai-agents@1.23.0',
  '@openai/agents-core@0.11.8',
  '@openai/agents-openai@0.11.8',
  'openai@^6.35.0',
  '@opentelemetry/sdk-trace-base@^1.25.1',
  '@temporalio/ai-sdk@1.23.0',
  'ai@7.0.173',
  '@ai-sdk/mcp@^2.0.0',
  '@ai-sdk/provider@^4.0.0',
  'zod@^4.0.0',
];

/** Runs a script there, by the command of a Node. */
const onNode = async ([program = '', ...before]: readonly string[], ...args: string[]): Promise<string> => {
  const { code, out, err } = await run(program, [...before, ...args], { cwd: installed.app, env: NODE_ENV });
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return out;
};

/** Writes the recipes of the plugin's page beside the agents that follow them. */
function writeRecipes(): void {
  cpSync(join(root, 'test', 'fixtures', 'plugin-users'), join(installed.app, 'users'), { recursive: true });
  const recipes = snippetsOf('js', ['docs/plugin.md']).map(({ text }) => text);
  for (const [n, name] of ['openai', 'ai-sdk'].entries()) {
    const text = recipes[n] ?? '';
    writeFileSync(join(installed.app, 'users', `${name}-recipe.mjs`), text);
    const soon = text.replace("'1 day'", "'1 second'");
    writeFileSync(join(installed.app, 'users', `${name}-recipe-soon.mjs`), soon);
  }
}

/** Runs an agent once for each case, and returns what each was told, and what really happened. */
async function drive(name: string, node: readonly string[]): Promise<object> {
  const effects = join(installed.app, `${name}.effects`);
  const mcpServer = join(root, 'test', 'support', 'mcp-server.cjs');
  const out = await onNode(node, join('users', `${name}.mjs`), server.address, effects, mcpServer);
  const [, told = '{}'] = /^told (.*)$/m.exec(out) ?? [];
  return { ...JSON.parse(told), happened: readFileSync(effects, 'utf8').trim().split('\n') };
}

const asked = (tool: string, phase: string, answer: unknown): object => ({
  tool,
  phase,
  answer,
  proposed: expect.anything(),
});

// They come from the registry, and some 100 packages with them. They stay installed, so nothing comes after them.
const title = 'beside the plugins of Temporal for agents, with the overrides of our page';
(isThorough ? describe : describe.skip)(title, () => {
  beforeAll(async () => {
    const { overrides } = documentedOverrides();
    // As npm writes them where nobody says otherwise.
    const dependencies = Object.fromEntries(Object.keys(overrides).map((name) => [name, '^1.24.0']));
    await installed.add(PLUGINS, { dependencies, overrides });
    writeRecipes();
    expect(await installed.countersign('doctor', '--setup', '--address', server.address)).toMatchObject({
      code: 0,
    });
  }, 240_000);

  it('has one copy of the SDK', async () => {
    const args = ['ls', '@temporalio/common', '--all', '--parseable'];
    const { out } = await run('npm', args, { cwd: installed.app });
    const copies = out.split('\n').filter((path) => path.endsWith('common'));
    expect(new Set(copies).size).toBe(1);
  });

  it.each([
    ['@temporalio/openai-agents 1.23.0', 'openai.cjs', [process.execPath], /paid 700/],
    [
      '@temporalio/ai-sdk 1.23.0',
      'ai-sdk.cjs',
      node22(),
      /ann changed the arguments of this call before it ran.*900 → 700.*paid 700/,
    ],
  ])(
    '%s, by a gate in the workflow: an edit, one payment, and a turn',
    async (_, script, node, read) => {
      const out = await onNode(node, script, server.address);
      const answer: unknown = JSON.parse(
        out.split('\n').find((line) => line.startsWith('{"answer"')) ?? '{}',
      );
      expect(answer).toEqual({
        answer: expect.stringMatching(read),
        beside: 'a turn beside it',
        paid: ['700'],
      });
    },
    300_000,
  );

  it('activityAsTool, by the recipe of its page: approved, edited, denied, expired; each replays', async () => {
    expect(await drive('openai', [process.execPath])).toEqual({
      approve: asked('refund', 'done', expect.stringContaining('paid 900')),
      edit: asked('refund', 'done', expect.stringMatching(/ann changed.*half.*900 → 700.*paid 700/)),
      deny: asked('refund', 'denied', expect.stringContaining('ann denied this call: not this one')),
      expire: asked('refund', 'expired', expect.stringMatching(/[Nn]obody decided/)),
      happened: ['900', '700'],
    });
  }, 300_000);

  it('generateText with a tool and a tool of an MCP server, by the recipe: the same, and each replays', async () => {
    const both = (tool: string, of: string): object => ({
      [`${tool} approve`]: asked(tool, 'done', expect.stringContaining(`${of}900`)),
      [`${tool} edit`]: asked(tool, 'done', expect.stringMatching(new RegExp(`ann changed.*700.*${of}700`))),
      [`${tool} deny`]: asked(tool, 'denied', expect.stringContaining('ann denied this call: not this one')),
      [`${tool} expire`]: asked(tool, 'expired', expect.stringMatching(/[Nn]obody decided/)),
    });
    expect(await drive('ai-sdk', node22())).toEqual({
      ...both('refund', 'paid '),
      ...both('act', ''),
      happened: ['refund 900', 'refund 700', 'echo', 'echo'],
    });
  }, 300_000);
});
