import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, queueOf } from '../../src/cli/load-config';
import { ensureBuilt, root } from '../support/build';
import { testScreen } from './support';

let directory: string;
beforeAll(() => {
  // What `import … from 'countersign'` means in a config is the built package.
  ensureBuilt();
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-config-')));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let count = 0;
const write = (text: string, name = `config-${++count}.ts`): string => {
  writeFileSync(join(directory, name), text);
  return name;
};

const AGENT = `
import { defineAgent, defineTool, offlineModel } from 'countersign';
import { z } from 'zod';
const tool = defineTool({ name: 'pay', description: 'Pays.', parameters: z.object({ n: z.number() }), handler: () => 1 });
export const agent = defineAgent({ name: 'clerk', instructions: 'Pay.', model: offlineModel(), tools: [tool] });
`;

describe('a config file', () => {
  it.each([
    ['an agent', `${AGENT}export default agent;`],
    ['a list of agents', `${AGENT}export default [agent];`],
    [
      'a config',
      `${AGENT}import { defineConfig } from 'countersign';\nexport default defineConfig({ agents: [agent] });`,
    ],
    ['a config that waits for something', `${AGENT}await Promise.resolve();\nexport default agent;`],
  ])('exports %s, with nothing installed beside it', async (_name, text) => {
    const { config, file } = await loadConfig(write(text), directory);
    expect(config.agents.map(({ name }) => name)).toEqual(['clerk']);
    expect(config.agents[0]?.registry.get('pay')?.schema).toMatchObject({ required: ['n'] });
    expect(file.startsWith(directory)).toBe(true);
  });

  it('may be JavaScript of either kind', async () => {
    const esm = write(
      "import { defineConfig } from 'countersign';\nexport { agent as default } from './shared.ts';",
      'a.mjs',
    );
    write(AGENT, 'shared.ts');
    const cjs = write("module.exports = require('./shared.ts').agent;", 'b.cjs');
    for (const file of [esm, cjs]) {
      const { config } = await loadConfig(file, directory);
      expect(config.agents[0]?.name).toBe('clerk');
    }
  });

  it('is found by its name', async () => {
    const folder = join(directory, 'found');
    mkdirSync(folder);
    await expect(loadConfig(undefined, folder)).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
    writeFileSync(join(folder, 'countersign.config.ts'), `${AGENT}export default agent;`);
    const { file } = await loadConfig(undefined, folder);
    expect(file).toBe(join(folder, 'countersign.config.ts'));
  });

  it('names the queue of what is started beside it, unless another is named or it cannot be loaded', async () => {
    const folder = join(directory, 'queue');
    mkdirSync(folder);
    const screen = testScreen();
    const config = join(folder, 'countersign.config.ts');
    const before = process.cwd();
    process.chdir(folder);
    try {
      expect(await queueOf(undefined, { screen })).toBeUndefined();
      const made =
        "import { defineConfig } from 'countersign';\nexport default defineConfig({ agents: [agent], taskQueue: 'mine' });";
      writeFileSync(config, `${AGENT}${made}`);
      expect(await queueOf(undefined, { screen })).toBe('mine');
      expect(await queueOf('other', { screen })).toBe('other');
      expect(screen.printed).toEqual([]);
      writeFileSync(config, 'throw new Error("no key");');
      expect(await queueOf(undefined, { screen })).toBeUndefined();
      expect(screen.printed[0]).toContain('no key; so the queue is countersign, or what --queue names');
    } finally {
      process.chdir(before);
    }
  });

  it('may be the example of the README, of at most 25 lines', async () => {
    const { config } = await loadConfig(join('examples', 'my-agent.ts'), root);
    expect(config.agents.map(({ name }) => name)).toEqual(['clerk']);
    expect(config.agents[0]?.registry.get('send_mail')?.safety).toBe('dangerous');
  });
});

describe('a mistake in a config file', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'syntax',
      'const a = 1;\nexport default {\n  b: = 3\n};\n',
      'config_invalid',
      /^config-\d+\.ts:3: Unexpected token/,
    ],
    [
      'a throw',
      'const a: number = 1;\n\nthrow new Error("no key\\nmore");\n',
      'config_invalid',
      /^config-\d+\.ts:3: no key$/,
    ],
    ['a throw that is no error', 'throw "oops";\n', 'config_invalid', /^config-\d+\.ts: it threw oops$/],
    [
      'a missing file',
      "import { x } from './nope';\nexport default x;\n",
      'config_invalid',
      /Cannot find module '\.\/nope'/,
    ],
    [
      'a missing package',
      "import x from 'no-such-package';\nexport default x;\n",
      'config_invalid',
      /'no-such-package'/,
    ],
    [
      'an entry that is not there',
      "import 'countersign/nope';\nexport default 1;\n",
      'config_invalid',
      /countersign\/nope/,
    ],
    ['no default export', 'export const a = 1;\n', 'config_invalid', /the default export is missing/],
    ['an empty file', '', 'config_invalid', /the default export is missing/],
    ['something else', 'export default 3;\n', 'config_invalid', /the default export is a number/],
    [
      'a wrong tool',
      "import { defineTool } from 'countersign';\n\nexport default defineTool({ name: 'Bad Name' } as never);\n",
      'config_invalid',
      /^config-\d+\.ts:3: tool `Bad Name`/,
    ],
  ])('%s is shown with its place, and without a stack', async (_name, text, code, message) => {
    const error: unknown = await loadConfig(write(text), directory).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(String(error)).not.toMatch(/\n\s+at /);
  });

  it('names the file that has the mistake, also where another imports it', async () => {
    const broken = write('export const a = ;\n');
    const importing = write(`import { a } from './${broken}';\nexport default a;\n`);
    await expect(loadConfig(importing, directory)).rejects.toThrow(`${broken}:1: Unexpected token`);
  });

  it.each([
    ['a file that is not there', 'gone.ts', 'not_found'],
    ['a folder', '.', 'config_invalid'],
  ])('%s', async (_name, named, code) => {
    await expect(loadConfig(named, directory)).rejects.toThrow(expect.objectContaining({ code }));
  });
});
