import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import ts from 'typescript';
import { connect, type Countersign } from '../src/client';
import { startNode, startProgram, type RunningCommand } from './cli/process';
import { runCli } from './cli/run-cli';
import { root } from './support/build';
import { snippetsOf } from './support/docs';
import { testAddress, testCli, testConnection } from './support/server';
import { until } from './support/until';

/** Every snippet of the docs, run as a reader would run it: in a folder of its own that has the package installed. */
const NAMESPACE = 'docs-snippets';

const snippets = new Map(snippetsOf('ts').map(({ page, number, text }) => [`${page} ${number}`, text]));
const textOf = (name: string): string => {
  const text = snippets.get(name);
  if (text === undefined) throw new Error(`no page has the snippet ${name}`);
  return text;
};

/** Snippets that another test here runs, or that need what no test has. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/own-workflows.md 1': 'it is a workflow',
  'docs/own-workflows.md 2': 'it is a workflow',
  'docs/own-workflows.md 3': 'it is the worker of these',
  'docs/own-workflows.md 4': 'it is their other worker',
  'docs/plugin.md 1': 'it is the worker of these',
  'docs/plugin.md 2': 'it is a workflow',
  'docs/plugin.md 3': 'it is a workflow',
  'docs/debugging.md 1': 'an extension of an editor starts it, with a history',
  'docs/streaming.md 1': 'it follows a turn; the tests of streaming do',
};

let folder = '';
let env: NodeJS.ProcessEnv = {};
const running: RunningCommand[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-snippets-'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules', 'countersign'));
  for (const name of ['@temporalio', '@ai-sdk', 'zod'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  for (const name of ['site/.git', 'data', 'lisp', 'letters'])
    await mkdir(join(folder, name), { recursive: true });
  env = {
    TEMPORAL_ADDRESS: testAddress(),
    TEMPORAL_NAMESPACE: NAMESPACE,
    COUNTERSIGN_TEST_ADDRESS: testAddress(),
    XDG_STATE_HOME: folder,
    OPENAI_API_KEY: 'a-key',
    ANTHROPIC_API_KEY: 'a-key',
    GEMINI_API_KEY: 'a-key',
  };
  const create = ['operator', 'namespace', 'create', '--namespace', NAMESPACE, '--address', testAddress()];
  expect(await startProgram([testCli(), ...create]).ended).toMatchObject({ code: 0 });
  expect(await runCli(['doctor', '--setup'], { env })).toMatchObject({ code: 0 });
}, 120_000);

afterAll(async () => {
  for (const one of running) one.signal('SIGKILL');
  await Promise.all(running.map(({ ended }) => ended));
  await rm(folder, { recursive: true, force: true });
});

const compiled = (text: string, module: ts.ModuleKind): string =>
  ts.transpileModule(text, { compilerOptions: { module, target: ts.ScriptTarget.ES2023 } }).outputText;

const names = [...snippets.keys()].filter((name) => !(name in ELSEWHERE));

describe('each by itself, as an ES module', () => {
  const failed = new Map<string, string>();

  beforeAll(async () => {
    const files = names.map((name, n) => ({ name, file: join(folder, `snippet-${n}.mjs`) }));
    for (const { name, file } of files) await writeFile(file, compiled(textOf(name), ts.ModuleKind.ESNext));
    const main = join(folder, 'all.mjs');
    await writeFile(
      main,
      `const failed = [];
for (const { name, file } of ${JSON.stringify(files)})
  await import(file).catch((error) => failed.push([name, String(error)]));
console.log('failed ' + JSON.stringify(failed));
process.exit();`,
    );
    const { out, err } = await startNode([main], { cwd: folder, env }).ended;
    const [, found] = /^failed (.*)$/m.exec(out) ?? [];
    if (found === undefined) throw new Error(`${out}\n${err}`);
    const all: [string, string][] = JSON.parse(found);
    for (const [name, error] of all) failed.set(name, error);
  }, 240_000);

  it.each(names)('%s runs', (name) => {
    expect(failed.get(name)).toBeUndefined();
  });

  it('leaves out nothing that is there no more', () => {
    expect(Object.keys(ELSEWHERE).filter((name) => !snippets.has(name))).toEqual([]);
  });
});

const WORKFLOWS = {
  'workflows-1': 'docs/own-workflows.md 1',
  'workflows-2': 'docs/own-workflows.md 2',
};
const INDEX = `export { refundOrder } from './workflows-1';
export { refundSafely } from './workflows-2';
`;

/** As the page says: `workflows.js` is also found as `workflows.ts`. */
async function asModule(name: string, worker: string): Promise<string> {
  const place = await placeFor(name);
  const files = { ...WORKFLOWS, workflows: '' };
  for (const [file, snippet] of Object.entries(files))
    await writeFile(join(place, `${file}.ts`), snippet === '' ? INDEX : textOf(snippet));
  const main = join(place, 'worker.mjs');
  await writeFile(main, compiled(worker, ts.ModuleKind.ESNext));
  return main;
}

/** As the page says: `require.resolve`, and `await` in an async function. */
async function asCommonJs(name: string, worker: string): Promise<string> {
  const place = await placeFor(name);
  const js = (text: string): string => compiled(text, ts.ModuleKind.CommonJS);
  for (const [file, snippet] of Object.entries(WORKFLOWS))
    await writeFile(join(place, `${file}.js`), js(textOf(snippet)));
  await writeFile(join(place, 'workflows.js'), js(INDEX));
  const text = worker.replace(/fileURLToPath\(.*?\)\)/, "require.resolve('./workflows')");
  const start = text.indexOf('\nconst ');
  const main = join(place, 'worker.cjs');
  await writeFile(
    main,
    js(`${text.slice(0, start)}\nasync function main() {${text.slice(start)}}\nvoid main();\n`),
  );
  return main;
}

async function placeFor(name: string): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  await cp(join(folder, 'node_modules'), join(place, 'node_modules'), { recursive: true });
  return place;
}

/** Starts the two workflows, approves what they ask, and says what came of each. */
async function refunds(of: string): Promise<string[]> {
  const connection = await testConnection();
  const { workflow } = new Client({ connection, namespace: NAMESPACE });
  const approver = await connect({ address: testAddress(), namespace: NAMESPACE });
  const types = ['refundOrder', 'refundSafely'];
  const results = types.map(async (type) => {
    const id = `${of}-${type}`;
    const handle = await workflow.start(type, {
      args: ['A-77', 1500],
      taskQueue: 'countersign',
      workflowId: id,
    });
    await until(`a request of ${id}`, async () =>
      (await approver.inbox({})).some(({ turn, kind }) => turn === id && kind === 'request'),
    );
    await approver.decide(id, { callId: '1.1', decision: 'approved', approver: 'ann' });
    return String(await handle.result());
  });
  const ended = await Promise.all(results);
  await approver.close();
  await connection.close();
  return ended;
}

const REFUNDED = Array.from({ length: 2 }, () => expect.stringMatching(/^A-77 refunded once as \S+$/));

describe('workflows of ones own, on the workers of the page', () => {
  const started = (main: string): RunningCommand => {
    const one = startNode([main], { cwd: folder, env });
    running.push(one);
    return one;
  };

  it.each([
    ['an ES module', asModule],
    ['CommonJS', asCommonJs],
  ])(
    'startWorker, as %s',
    async (kind, write) => {
      const name = kind.replaceAll(' ', '-');
      const worker = started(await write(name, textOf('docs/own-workflows.md 3')));
      const early = worker.ended.then(({ out, err }) => Promise.reject(new Error(`it ended: ${out}${err}`)));
      expect(await Promise.race([refunds(name), early])).toEqual(REFUNDED);
      early.catch(() => undefined);
      worker.signal('SIGKILL');
      await worker.ended;
    },
    180_000,
  );

  it('createWorkerOptions, which ends well when it is asked to', async () => {
    const activities = /^const activities = \{[^]*?^\};$/m.exec(textOf('docs/own-workflows.md 3'))?.[0] ?? '';
    // Where the server is, and the activities of the page's other worker.
    const text = textOf('docs/own-workflows.md 4')
      .replace('connect()', `connect({ address: '${testAddress()}' })`)
      .replace('{ config, connection,', `{ config, connection, namespace: '${NAMESPACE}',`)
      .replace('const own = {', `${activities}\nconst own = { activities,`);
    const worker = started(await asModule('own-worker', text));
    const early = worker.ended.then(({ out, err }) => Promise.reject(new Error(`it ended: ${out}${err}`)));
    expect(await Promise.race([refunds('own-worker'), early])).toEqual(REFUNDED);
    early.catch(() => undefined);
    worker.signal('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
  }, 180_000);
});

describe('the worker of the plugin, as its page has it', () => {
  let worker: RunningCommand;
  let approver: Countersign;
  const connection = `{ connection: await NativeConnection.connect({ address: '${testAddress()}' }), namespace: '${NAMESPACE}',`;

  beforeAll(async () => {
    const place = await placeFor('plugin');
    const files = {
      first: textOf('docs/plugin.md 2'),
      second: textOf('docs/plugin.md 3'),
      workflows: "export * from './first';\nexport * from './second';\n",
    };
    for (const [name, text] of Object.entries(files))
      await writeFile(join(place, `${name}.js`), compiled(text, ts.ModuleKind.CommonJS));
    // Where the server is, and the activities of the second workflow.
    const text = textOf('docs/plugin.md 1')
      .replace('{ Worker }', '{ NativeConnection, Worker }')
      .replace('...{ task', `...${connection} task`)
      .replace('const activities = {', 'const activities = { reserve: () => {}, release: () => {},');
    await writeFile(join(place, 'worker.mjs'), compiled(text, ts.ModuleKind.ESNext));
    worker = startNode([join(place, 'worker.mjs')], { cwd: place, env });
    running.push(worker);
    approver = await connect({ address: testAddress(), namespace: NAMESPACE });
  });
  afterAll(() => approver.close());

  it.each([
    ['handleComplaint', ['A-77'], { decision: 'approved' }, 'refunded 1500 of A-77'],
    [
      'handleComplaint',
      ['A-78'],
      { decision: 'modified', arguments: { order: 'A-78', cents: 700 } },
      'refunded 700 of A-78',
    ],
    ['refundReserved', ['A-79', 1500], { decision: 'denied', reason: 'no' }, /^ann denied this call: no/],
  ] as const)('%s of %s, which somebody has %p', async (type, args, decision, told) => {
    const workflowId = `${type}-${args[0]}`;
    const start = { args: [...args], taskQueue: 'refunds', workflowId };
    const handle = await approver.client.workflow.start(type, start);
    const early = worker.ended.then(({ out, err }) => Promise.reject(new Error(`it ended: ${out}${err}`)));
    early.catch(() => undefined);
    const asked = until(`a request of ${workflowId}`, async () =>
      (await approver.inbox({})).some(({ turn }) => turn === workflowId),
    );
    await Promise.race([asked, early]);
    await approver.decide(workflowId, { callId: '1.1', approver: 'ann', ...decision });
    expect(await handle.result()).toEqual(typeof told === 'string' ? told : expect.stringMatching(told));
  });
});
