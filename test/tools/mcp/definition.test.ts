import fc from 'fast-check';
import { TOOL_NAME } from '../../../src/contract/names';
import {
  readForModels,
  digestDefinition,
  type Definition,
  MOST_TOOLS,
  readListed,
  toolName,
  toolNames,
} from '../../../src/tools/mcp/definition';

const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
const tool = (more: object = {}): object => ({ name: 'read', inputSchema, ...more });
const ofA = (a: object): object => ({ inputSchema: { type: 'object', properties: { a } } });
const deep = (levels: number): object => (levels === 0 ? {} : { properties: deep(levels - 1) });

describe('what a server lists', () => {
  it('is kept as far as it is shown and digested', () => {
    const listed = readListed([tool({ description: 'Reads.', _meta: { x: 1 }, icons: [], execution: {} })]);
    expect(listed).toEqual([{ definition: { name: 'read', description: 'Reads.', inputSchema } }]);
  });

  it.each([
    ['no object', 7],
    ['no name', { inputSchema }],
    ['no schema', { name: 'read' }],
    ['a schema of a list', tool({ inputSchema: { type: 'array' } })],
    ['a schema that is too deep', tool({ inputSchema: { type: 'object', ...deep(30) } })],
    ['a schema that is too long', tool({ inputSchema: { ...inputSchema, title: 'x'.repeat(70_000) } })],
    ['a name that is too long', tool({ name: 'x'.repeat(129) })],
    ['a description that is no text', tool({ description: { text: 'x' } })],
    ['a key that is the prototype', tool({ inputSchema: JSON.parse('{"type":"object","__proto__":{}}') })],
  ])('cannot be used: %s', (_case, given) => {
    expect(readListed([given])).toEqual([{ name: expect.any(String), unfit: expect.any(String) }]);
  });

  it.each<[string, object, RegExp]>([
    ['a description that is too long', { description: 'x'.repeat(9000) }, /models get the first/],
    [
      'a default that does not fit',
      ofA({ type: 'string', default: null }),
      /^default null of \/a does not fit/,
    ],
    [
      'a pattern that takes for ages',
      ofA({ pattern: '(?=a)b' }),
      /^checked by the server only: pattern of \/a/,
    ],
    ['a reference to another place', ofA({ $ref: 'http://x' }), /^checked by the server only: \$ref of \/a/],
    [
      'a required name without a schema',
      { inputSchema: { type: 'object', required: ['b'] } },
      /only: required parameter b/,
    ],
  ])('is used, and said: %s', (_case, more, said) => {
    const [one] = readListed([tool(more)]);
    expect(one).toEqual({
      definition: { name: 'read', inputSchema, ...more },
      notes: [expect.stringMatching(said)],
    });
  });

  it('cannot be used where two tools have one name', () => {
    expect(readListed([tool(), tool({ description: 'Other.' })]).every((one) => 'unfit' in one)).toBe(true);
  });

  it('is bounded', () => {
    const many = Array.from({ length: MOST_TOOLS + 5 }, (_, n) => tool({ name: `tool${n}` }));
    expect(readListed(many)).toHaveLength(MOST_TOOLS);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.array(fc.anything()), (tools) => readListed(tools).length <= tools.length));
  });
});

it('leaves out the dialect of a schema', () => {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...inputSchema };
  expect(readForModels({ name: 'read', inputSchema: schema }).schema).toEqual(inputSchema);
});

it('cuts a long description for models, and digests all of it', () => {
  const [long, longer] = [9000, 9001].map((length) => ({
    name: 'read',
    description: 'x'.repeat(length),
    inputSchema,
  }));
  if (long === undefined || longer === undefined) throw new Error('no definition');
  expect(readForModels(long).description).toHaveLength(8192);
  expect(digestDefinition(long)).not.toBe(digestDefinition(longer));
});

it.each([
  ['name', { name: 'read2' }],
  ['title', { title: 'T' }],
  ['description', { description: 'B' }],
  ['arguments', { inputSchema: { type: 'object' } }],
  ['results', { outputSchema: { type: 'object' } }],
  ['annotations', { annotations: { readOnlyHint: true } }],
])('digests its %s', (_what, change: Partial<Definition>) => {
  const definition: Definition = { name: 'read', description: 'A', inputSchema };
  expect(digestDefinition({ ...definition, ...change })).not.toBe(digestDefinition(definition));
});

describe('names', () => {
  it.each([
    ['read_file', 'files__read_file'],
    ['readFile', 'files__read_file'],
    ['get-sum', 'files__get_sum'],
    ['a.b/C', 'files__a_b_c'],
    ['__init__', 'files__init'],
    ['工具', undefined],
  ])('%s is called %s', (name, expected) => {
    expect(toolName('files', name)).toBe(expected);
  });

  it('are cut with a part of a digest, so that they still differ', () => {
    const [one, other] = ['x'.repeat(80), 'x'.repeat(81)].map((name) => toolName('files', name) ?? '');
    expect([one?.length, other?.length]).toEqual([64, 64]);
    expect(one).not.toBe(other);
  });

  it('leave out tools that would be called the same', () => {
    expect([...toolNames('s', ['get-sum', 'getSum', 'add'])]).toEqual([['add', 's__add']]);
  });

  it('are always names of tools', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const ours = toolName('server', name);
        return ours === undefined || (TOOL_NAME.test(ours) && ours.startsWith('server__'));
      }),
    );
  });
});
