import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkConfig,
  checkJournal,
  checkModels,
  checkNode,
  checkProxies,
  checkSdk,
} from '../../../src/cli/doctor/machine';
import { openaiCompatible } from '../../../src/models/openai-compatible';
import { openai } from '../../../src/models/providers';
import { defineAgent } from '../../../src/tools/define-agent';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const before = process.cwd();
beforeEach(() => process.chdir(scratch()));
afterEach(() => process.chdir(before));

/** A config that leaves a trace where it runs. */
const put = (): void =>
  writeFileSync(
    'countersign.config.cjs',
    `require('node:fs').writeFileSync(${JSON.stringify(join(scratch(), 'ran'))}, ''); throw new Error('it ran');`,
  );

it('runs no config that was not named, and says so', async () => {
  put();
  expect(await checkConfig(undefined)).toEqual({
    finding: {
      name: 'config',
      state: 'skipped',
      detail: 'countersign.config.cjs is here and was not run',
      todo: expect.stringMatching(/countersign doctor countersign\.config\.cjs$/),
    },
  });
  expect(existsSync('ran')).toBe(false);
});

it('runs the one that is named', async () => {
  put();
  expect(await checkConfig('countersign.config.cjs')).toMatchObject({
    finding: { state: 'bad', detail: expect.stringContaining('it ran') },
  });
  expect(existsSync('ran')).toBe(true);
});

it('needs none', async () => {
  expect(await checkConfig(undefined)).toMatchObject({ finding: { state: 'ok' } });
});

describe("copies of Temporal's SDK", () => {
  const put = (...path: string[]): string => {
    const folder = join(scratch(), 'node_modules', ...path, 'node_modules', '@temporalio', 'common');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"version":"1.23.0"}');
    return folder;
  };

  it.each([
    ['another package', ['plugin']],
    ['a package of a scope', ['@temporalio', 'openai-agents']],
    ['a package of a package', ['one', 'node_modules', '@its', 'own']],
    ['a package as pnpm keeps it', ['.pnpm', 'plugin@1.0.0']],
  ])('of %s are named, with what to do', (_, path) => {
    const copy = put(...path);
    mkdirSync(join(scratch(), 'app', 'node_modules'), { recursive: true });
    symlinkSync(scratch(), join(scratch(), 'app', 'node_modules', 'linked'));
    expect(checkSdk(join(scratch(), 'app'))).toEqual({
      ...{ name: "Temporal's SDK", state: 'warning' },
      detail: expect.stringContaining(`@temporalio/common 1.23.0 in ${copy}`),
      todo: expect.stringContaining('npm ls @temporalio/common'),
    });
  });

  it('are one where nobody has another', () => {
    expect(checkSdk(scratch())).toMatchObject({ state: 'ok' });
  });
});

it('says that a journal cannot be kept where a file stands in the way', async () => {
  const stateDir = join(scratch(), 'state');
  expect(await checkJournal({ stateDir })).toMatchObject({ state: 'ok', detail: join(stateDir, 'journal') });
  writeFileSync(stateDir, '');
  expect(await checkJournal({ stateDir })).toMatchObject({
    state: 'bad',
    detail: expect.stringContaining('cannot be written'),
    todo: expect.stringContaining('stateDir'),
  });
});

it.each([
  ['20.19.0', 'ok'],
  ['24.1.0', 'ok'],
  ['20.18.9', 'bad'],
  ['18.20.0', 'bad'],
])('Node.js %s is %s', (version, state) => {
  expect(checkNode(version).state).toBe(state);
});

it('names the proxies of the environment, and shows no password', () => {
  const env = { HTTPS_PROXY: 'http://ann:s3cret@p.test:3128', http_proxy: 'ann:s3cret@p.test' };
  const found = checkProxies(env);
  expect(found).toEqual([
    {
      ...{ name: 'proxy for http', state: 'bad', detail: 'http_proxy is not the http(s) URL of a proxy' },
      todo: 'Write http_proxy like http://proxy.example.com:3128, or remove it.',
    },
    { name: 'proxy for https', state: 'ok', detail: 'p.test:3128, by HTTPS_PROXY' },
  ]);
  expect(JSON.stringify(found)).not.toContain('s3cret');
  expect(checkProxies({})).toEqual([]);
});

it('shows what each model is asked with, and no secret', async () => {
  const local = openaiCompatible({
    ...{
      baseUrl: 'http://gpu.test/v1',
      model: 'qwen',
      apiKey: 's3cret-key',
      headers: { 'x-key': 's3cret-too' },
    },
    maxOutputTokens: 500,
    settings: {
      temperature: 0,
      parallel_tool_calls: false,
      api_key: 'hidden',
      note: 's3cret-key',
      max_tokens: 9,
    },
  });
  const far = openai({ model: 'gpt-5', apiKey: 's3cret-key', settings: { reasoningEffort: 'high' } });
  const agent = (name: string, fallback: string[] = []) =>
    defineAgent({ name, instructions: 'x', model: local, fallback: [far, ...fallback], tools: [] });
  const found = await checkModels({ agents: [agent('clerk'), agent('desk', ['google:gemini-9'])] });
  expect(found).toEqual([
    {
      ...{ name: 'gpu.test/qwen', state: 'ok' },
      detail:
        'of clerk, desk; http://gpu.test/v1, maxOutputTokens 500, temperature 0, parallel_tool_calls false, api_key "[redacted]", note "[redacted]", max_tokens 9',
    },
    {
      ...{ name: 'openai:gpt-5', state: 'ok' },
      detail: 'of clerk, desk; https://api.openai.com/v1, store false, reasoningEffort "high"',
    },
    {
      ...{
        name: 'google:gemini-9',
        state: 'bad',
        detail: expect.stringContaining('GEMINI_API_KEY is not set'),
      },
      todo: expect.any(String),
    },
  ]);
  expect(JSON.stringify(found)).not.toMatch(/s3cret|hidden/);
});
