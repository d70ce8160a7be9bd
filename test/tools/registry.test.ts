import { z } from 'zod';
import { createRegistry, estimateTokens } from '../../src/tools/registry';
import { makeTool } from './support';

const read = makeTool({ name: 'read_file', categories: ['files', 'reading'] });
const note = makeTool({ name: 'add_note', safety: 'cautious', categories: ['notes'] });
const remove = makeTool({ name: 'delete_file', safety: 'dangerous', categories: ['files'] });
const registry = createRegistry([read, note, remove]);

it.each([
  [undefined, ['read_file', 'add_note', 'delete_file']],
  [{}, ['read_file', 'add_note', 'delete_file']],
  [{ maxSafety: 'safe' }, ['read_file']],
  [{ maxSafety: 'cautious' }, ['read_file', 'add_note']],
  [{ maxSafety: 'dangerous' }, ['read_file', 'add_note', 'delete_file']],
  [{ category: 'files' }, ['read_file', 'delete_file']],
  [{ category: 'files', maxSafety: 'cautious' }, ['read_file']],
  [{ category: 'none' }, []],
  [{ names: ['*_file'] }, ['read_file', 'delete_file']],
  [{ names: ['add_note', 'read_*'] }, ['read_file', 'add_note']],
  [{ names: ['*_file'], maxSafety: 'safe' }, ['read_file']],
  [{ names: [] }, []],
] as const)('list(%j)', (filter, names) => {
  expect(registry.list(filter).map(({ name }) => name)).toEqual(names);
  expect(registry.functions(filter).map(({ function: { name } }) => name)).toEqual(names);
});

it('refuses a name that no tool has, and says which is near', () => {
  expect(() => registry.list({ names: ['read_*', 'add_notes'] })).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: 'no tool is called add_notes; near it: add_note',
    }),
  );
});

it.each([
  ['read_file', read],
  ['Read_File', undefined],
  ['constructor', undefined],
  ['', undefined],
] as const)('get(%j)', (name, tool) => {
  expect(registry.get(name)).toBe(tool);
});

it('gives the functions of an OpenAI request', () => {
  const tool = makeTool({ parameters: z.object({ text: z.string() }) });
  expect(createRegistry([tool]).functions()).toEqual([
    { type: 'function', function: { name: 'echo', description: 'Says it again.', parameters: tool.schema } },
  ]);
});

it('refuses two tools of one name', () => {
  expect(() => createRegistry([read, makeTool({ name: 'read_file' })])).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('`read_file`') }),
  );
});

it.each([[undefined], [null], ['read_file'], [{}], [[read]]])('%p is not a tool', (odd) => {
  expect(() => Reflect.apply(createRegistry, undefined, [[odd]])).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});

it('what a list is done to changes nothing', () => {
  registry.list().pop();
  expect(registry.list()).toHaveLength(3);
});

it.each([
  [[], 0],
  [[makeTool()], 42],
  [[makeTool({ description: 'ü'.repeat(1000) })], 539],
])('estimates the tokens of definitions by their bytes', (tools, tokens) => {
  expect(estimateTokens(createRegistry(tools).functions())).toBe(tokens);
});
