import type { TranscriptEntry } from '../../../src/contract/transcript';
import { cutContent, DROPPED_OUTPUT } from '../../../src/contract/transcript';
import { scriptedModel } from '../../../src/models/scripted';
import { type Agent, type AgentOptions, defineAgent, withTools } from '../../../src/tools/define-agent';
import { createExecutor } from '../../../src/tools/executor';
import { FIND_TOOLS, offeredTools } from '../../../src/tools/builtin/find-tools';
import type { Tool } from '../../../src/tools/types';
import { makeTool } from '../support';

const ofServer = (server: string, name: string, description: string, keys: readonly string[] = []): Tool =>
  Object.freeze({
    ...makeTool({
      name: `${server}__${name}`,
      description,
      parameters: {
        type: 'object',
        properties: Object.fromEntries(keys.map((key) => [key, { type: 'string' }])),
        required: keys.slice(0, 1),
      },
    }),
    server,
  });

const ISSUES = ofServer('github', 'list_issues', 'Lists the open issues of a repository.', [
  'repository',
  'state',
]);
const CLOSE = ofServer('github', 'close_issue', 'Closes an issue.', ['number']);
const READ = ofServer('files', 'read_text_file', 'Reads a file as text.', ['path']);
const MAIL = ofServer('mail', 'send', 'Sends a letter to somebody. It can list what it attached.', ['to']);
const WORK = Array.from({ length: 300 }, (_, n) => ofServer('many', `work_${n}`, `Does the work ${n}.`));
const many = (number: number): Tool[] => WORK.slice(0, number);
const note = makeTool({ name: 'note' });

const agentOf = (tools: readonly Tool[], findTools?: AgentOptions['findTools']): Agent => {
  const options = { name: 'clerk', instructions: 'x', model: scriptedModel([]) };
  const own = tools.filter(({ server }) => server === 'local');
  const patterns = tools.length > own.length ? ['many__*'] : [];
  const agent = defineAgent({
    ...options,
    tools: [...own, ...patterns],
    ...(findTools === undefined ? {} : { findTools }),
  });
  return withTools(
    agent,
    tools.filter(({ server }) => server !== 'local'),
  );
};

const namesOffered = (agent: Agent, entries: readonly TranscriptEntry[] = []): string[] =>
  offeredTools(agent, entries).map(({ function: { name } }) => name);

const find = async (agent: Agent, args: object): Promise<string> => {
  const call = { name: FIND_TOOLS, arguments: JSON.stringify(args) };
  return (await createExecutor({ registry: agent.registry }).execute(call)).content;
};

const namesIn = (content: string): string[] =>
  [...content.matchAll(/^\{"name":"([^"]*)"/gm)].map(([, name = '']) => name);

const result = (content: string, more: object = {}): TranscriptEntry => ({
  kind: 'result',
  callId: '1.1',
  id: 'call_1',
  tool: FIND_TOOLS,
  content,
  success: true,
  ...more,
});

describe('a model is given', () => {
  const few = [note, ISSUES];
  const own = Array.from({ length: 3 }, (_, n) => makeTool({ name: `own_${n}` }));

  it.each<[string, readonly Tool[], AgentOptions['findTools'], string[]]>([
    ['all tools up to the limit', few, undefined, ['note', 'github__list_issues']],
    ['all forty', many(40), undefined, many(40).map(({ name }) => name)],
    ['the search instead of 41', many(41), undefined, [FIND_TOOLS]],
    ['the search, asked for', many(41), true, [FIND_TOOLS]],
    ['all where it is off', many(41), false, many(41).map(({ name }) => name)],
    ['its own tools and the search', [note, ...many(41)], undefined, ['note', FIND_TOOLS]],
    ['the search over a limit', few, { over: 1 }, ['note', FIND_TOOLS]],
    [
      'the core that is named, also by a pattern',
      [note, ISSUES, CLOSE, MAIL],
      { over: 1, core: ['github__*'] },
      ['github__list_issues', 'github__close_issue', FIND_TOOLS],
    ],
    ['nothing but the search, asked for', few, { over: 1, core: [] }, [FIND_TOOLS]],
    ['the search where its own tools are too many themselves', own, { over: 2 }, [FIND_TOOLS]],
    ['all where the core is all', few, { over: 1, core: ['*'] }, ['note', 'github__list_issues']],
  ])('%s', (_, tools, findTools, names) => {
    expect(namesOffered(agentOf(tools, findTools))).toEqual(names);
  });
});

it('is a safe and pure tool that says how many there are, by server, and nothing else of them', () => {
  const tool = agentOf([note, ISSUES, CLOSE, READ], { over: 1 }).registry.get(FIND_TOOLS);
  expect(tool).toMatchObject({ safety: 'safe', effect: 'pure', local: true });
  expect(tool?.description).toContain('There are 3 of them: github (2), files (1).');
  expect(tool?.description).not.toContain('issue');
});

it('has one digest, so that agents with other tools can be on one queue', () => {
  const digests = [many(41), many(42)].map((tools) => agentOf(tools).registry.get(FIND_TOOLS)?.digest);
  expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(digests[1]).toBe(digests[0]);
});

it('cannot be where a tool has its name, and is not missed where it is not needed', () => {
  const own = makeTool({ name: FIND_TOOLS });
  expect(() => agentOf([own, ...many(41)])).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('findTools: false') }),
  );
  expect(() => agentOf([own, note], { over: 1 })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
  expect(namesOffered(agentOf([own, note]))).toEqual([FIND_TOOLS, 'note']);
  expect(namesOffered(agentOf([own, ...many(41)], false))).toHaveLength(42);
});

it('refuses a core that names no tool', () => {
  const options = { name: 'a', instructions: 'x', model: scriptedModel([]), tools: [note] };
  expect(() => defineAgent({ ...options, findTools: { core: ['notes'] } })).toThrow(
    /no tool is called notes.*near it: note/,
  );
});

describe('the search', () => {
  const agent = agentOf([note, ISSUES, CLOSE, READ, MAIL, ...many(300)]);

  it.each([
    ['list open issues', 'github__list_issues'],
    ['listIssues', 'github__list_issues'],
    ['close the issues', 'github__close_issue'],
    ['github__close_issue', 'github__close_issue'],
    ['read text file', 'files__read_text_file'],
    ['repositories', 'github__list_issues'],
    ['who can send mail', 'mail__send'],
    ['work 42', 'many__work_42'],
  ])('finds by %j first %s', async (query, name) => {
    expect(namesIn(await find(agent, { query }))[0]).toBe(name);
  });

  it('answers with name, description and parameters, one tool a line, at most as many as asked', async () => {
    const [head, first, ...rest] = (await find(agent, { query: 'issue', limit: 1 })).split('\n');
    expect(head).toContain('from now on');
    expect(JSON.parse(first ?? '')).toEqual({
      name: 'github__close_issue',
      description: 'Closes an issue.',
      parameters: 'number: string',
    });
    expect(rest).toEqual([]);
    expect(namesIn(await find(agent, { query: 'work' }))).toHaveLength(5);
    expect(namesIn(await find(agent, { query: 'work', limit: 20 }))).toHaveLength(20);
  });

  it('answers the same to the same, in the order of names where tools are alike', async () => {
    const alike = agentOf([ofServer('b', 'x', 'Same.'), ofServer('a', 'x', 'Same.')], { over: 1 });
    expect(namesIn(await find(alike, { query: 'same' }))).toEqual(['a__x', 'b__x']);
    expect(await find(agent, { query: 'work' })).toBe(await find(agent, { query: 'work' }));
  });

  it('does not find what the model has', async () => {
    expect(namesIn(await find(agent, { query: 'note says it again' }))).not.toContain('note');
  });

  it.each(['', ' ?!', 'zebra', '__proto__', 'constructor'])('finds nothing by %j', async (query) => {
    expect(namesIn(await find(agent, { query }))).toEqual([]);
  });

  it('says what there is where nothing fits', async () => {
    expect(await find(agent, { query: 'zebra' })).toContain('many (300)');
  });

  it('keeps long definitions within the limits of an output', async () => {
    const keys = Array.from({ length: 1000 }, (_, n) => `parameter_${n}`);
    const long = Array.from({ length: 30 }, (_, n) =>
      ofServer('long', `t${n}`, 'word "\n" '.repeat(800), keys),
    );
    const content = await find(agentOf(long, { over: 1 }), { query: 'word', limit: 20 });
    expect(namesIn(content)).toHaveLength(20);
    expect(Buffer.byteLength(content)).toBeLessThan(64 * 1024);
  });
});

describe('from the next step on the model is given', () => {
  const agent = agentOf([note, ISSUES, CLOSE, READ, MAIL], { over: 2 });
  const core = ['note', FIND_TOOLS];
  const called = (tool: string): TranscriptEntry => ({
    kind: 'reply',
    replyId: 'r',
    text: '',
    calls: [{ callId: '1.1', id: 'call_1', tool, arguments: {} }],
  });
  const line = (name: string): string => JSON.stringify({ name, description: 'x' });

  it('what was found, in the order it was found', async () => {
    const entries = [
      result(await find(agent, { query: 'mail' })),
      result(await find(agent, { query: 'read file' })),
    ];
    expect(namesOffered(agent, entries)).toEqual([...core, 'mail__send', 'files__read_text_file']);
  });

  it.each<[string, TranscriptEntry[], string[]]>([
    ['what it called without looking for it', [called('mail__send')], ['mail__send']],
    ['nothing for a name that there is not', [called('mail__burn'), result(line('mail__burn'))], []],
    ['a tool of the core once', [called('note'), result(line('note'))], []],
    ['nothing for what another tool says', [result(line('mail__send'), { tool: 'note' })], []],
    ['nothing for a search that failed', [result(line('mail__send'), { success: false })], []],
    ['nothing for what a person says', [{ kind: 'words', text: line('mail__send') }], []],
    ['nothing for an output that was dropped', [result(DROPPED_OUTPUT)], []],
    [
      'nothing for a name within a description',
      [result(JSON.stringify({ description: line('mail__send') }))],
      [],
    ],
    [
      'the best ones of one answer with too many',
      [result([line('mail__send'), line('files__read_text_file'), line('github__close_issue')].join('\n'))],
      ['mail__send', 'files__read_text_file'],
    ],
    [
      'the newest, where there are too many',
      [
        result(line('mail__send')),
        result(line('files__read_text_file')),
        called('mail__send'),
        called('github__close_issue'),
      ],
      ['mail__send', 'github__close_issue'],
    ],
  ])('%s', (_, entries, names) => {
    expect(namesOffered(agent, entries)).toEqual([...core, ...names]);
  });

  it('the whole lines of a result that was cut', async () => {
    const wide = agentOf(many(41));
    const content = await find(wide, { query: 'work', limit: 20 });
    const names = namesOffered(wide, [result(cutContent(content, 1000))]);
    expect(names.length).toBeGreaterThan(3);
    expect(names.length).toBeLessThan(21);
  });
});

it('a name that there is not is answered with those near it, and with the search', async () => {
  const { registry } = agentOf([ISSUES, ...many(41)]);
  const call = { name: 'github__list_issue', arguments: '' };
  expect((await createExecutor({ registry }).execute(call)).error?.message).toBe(
    'There is no tool "github__list_issue". Near it: github__list_issues. Look for tools with find_tools.',
  );
});
