import { createCodeTools, type CodeOptions } from '../../../src/tools/code';
import { createExecutor, type Executor } from '../../../src/tools/executor';
import { createLispTools } from '../../../src/tools/lisp';
import { createRegistry } from '../../../src/tools/registry';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import type { JsonObject } from '../../../src/contract/json';
import { ensureBuilt, root } from '../../support/build';
import { makeFolder, STRICT, writeFiles } from './support';

const executorOf = (options: CodeOptions): Executor =>
  createExecutor({ registry: createRegistry(createCodeTools(options)) });

const contentOf = async (executor: Executor, name: string, args: JsonObject = {}): Promise<string> => {
  const { success, content, error } = await executor.execute({ name, arguments: args });
  expect({ success, error }).toEqual({ success: true, error: undefined });
  return content;
};

it('has eight tools that are safe and change nothing', () => {
  const tools = createCodeTools({ root: '.' });
  expect(tools.map(({ name, safety, effect }) => [name, safety, effect])).toEqual(
    [
      'describe_code_symbol',
      'function_signature',
      'find_callers',
      'find_references',
      'list_members',
      'type_hierarchy',
      'search_code_symbols',
      'code_diagnostics',
    ].map((name) => [name, 'safe', 'pure']),
  );
});

it('is of other tools in another folder', () => {
  const digestsOf = (folder: string) => createCodeTools({ root: folder }).map(({ digest }) => digest);
  expect(digestsOf('.')).toEqual(digestsOf(process.cwd()));
  expect(new Set([...digestsOf('/work/a'), ...digestsOf('/work/b')]).size).toBe(16);
});

it('shares no name with the other packs, so an agent can have them all', () => {
  const packs = [createCodeTools({ root: '.' }), createLispTools(), createWorkspaceTools({ root: '.' })];
  expect(() => createRegistry(packs.flat())).not.toThrow();
});

it.each([
  [{ root: '' }, '`root`'],
  [{ root: '.', project: '../tsconfig.json' }, '`project` "../tsconfig.json" is outside the workspace'],
  [{ root: '.', project: '/etc/tsconfig.json' }, '`project` "/etc/tsconfig.json" is outside the workspace'],
  [{ root: '.', project: [] }, '`project`'],
  [{ root: '.', heapMb: 1 }, '`heapMb`'],
  [{ root: '.', timeout: 'soon' }, '`timeout`'],
  [{ root: '.', roots: 'x' }, 'roots'],
])('refuses %j', (options, why) => {
  expect(() => createCodeTools(options)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  expect(() => createCodeTools(options)).toThrow(why);
});

describe('on this repository', () => {
  const executor = executorOf({ root });
  beforeAll(async () => {
    ensureBuilt();
    await contentOf(executor, 'search_code_symbols', { pattern: 'defineTool' });
  });
  const ask = (name: string, args: JsonObject) => contentOf(executor, name, args);

  it('finds a function by a part of its name', async () => {
    expect(await ask('search_code_symbols', { pattern: 'efinetoo', kind: 'function' })).toMatch(
      /defineTool: function, exported, src\/tools\/define-tool\.ts:\d+:\d+/,
    );
  });

  it('describes it', async () => {
    const text = await ask('describe_code_symbol', { symbol: 'defineTool' });
    expect(text).toMatch(/^defineTool: function, exported, src\/tools\/define-tool\.ts:\d+:17$/m);
    expect(text).toContain('@throws CountersignError `tool_invalid`');
  });

  it('tells its signature', async () => {
    expect(await ask('function_signature', { symbol: 'defineTool' })).toContain(
      '  defineTool<P extends Parameters>(options: ToolOptions<P>): Tool',
    );
  });

  it('finds who calls runProcess', async () => {
    expect(await ask('find_callers', { symbol: 'runProcess' })).toMatch(
      /^ {2}src\/tools\/shell-tools\.ts run \(function\): \d+:\d+$/m,
    );
  });

  it('finds what refers to a member', async () => {
    expect(await ask('find_references', { symbol: 'ToolError.retryable' })).toMatch(
      /^ {2}src\/tools\/errors\.ts:\d+:\d+: write: this\.retryable = /m,
    );
  });

  it('lists the members of an interface', async () => {
    expect(await ask('list_members', { symbol: 'CallContext' })).toMatch(
      /^ {2}signal: AbortSignal {2}\(src\/tools\/types\.ts:\d+:\d+\)$/m,
    );
  });

  it('shows the hierarchy of CountersignError', async () => {
    expect(await ask('type_hierarchy', { symbol: 'CountersignError' })).toMatch(
      /^ {2}extends Error \(interface, node_modules\/typescript\/lib\/lib\.es5\.d\.ts:\d+:\d+\)$/m,
    );
  });

  it('finds nothing wrong in a file, and imports of packages resolved', async () => {
    expect(await ask('code_diagnostics', { file: 'src/tools/define-tool.ts' })).toMatch(/: no errors\.$/);
  });

  it('names what is near where a name is wrong', async () => {
    const { error } = await executor.execute({
      name: 'describe_code_symbol',
      arguments: { symbol: 'defineTol' },
    });
    expect(error).toMatchObject({ code: 'tool', message: expect.stringContaining('Near names: defineTool') });
  });
});

it('sees an edit by the workspace tools at once', async () => {
  const folder = makeFolder({ 'tsconfig.json': STRICT, 'a.ts': 'export const a: string = "x";\n' });
  const executor = executorOf({ root: folder });
  expect(await contentOf(executor, 'code_diagnostics')).toContain('no errors');
  writeFiles(folder, { 'a.ts': 'export const a: string = 1;\n' });
  expect(await contentOf(executor, 'code_diagnostics')).toContain(
    "a.ts:1:14: error TS2322: Type 'number' is not assignable to type 'string'.",
  );
});

it('refuses half a character', async () => {
  const { error } = await executorOf({ root }).execute({
    name: 'find_callers',
    arguments: { symbol: 'x\ud800' },
  });
  expect(error?.message).toContain('half a character');
});

it('ends TypeScript at the timeout, and has a result', async () => {
  const folder = makeFolder({ 'tsconfig.json': STRICT, 'a.ts': 'export const a = 1;' });
  const { error } = await executorOf({ root: folder, timeout: 1 }).execute({
    name: 'code_diagnostics',
    arguments: {},
  });
  expect(error).toMatchObject({ code: 'timeout' });
});
