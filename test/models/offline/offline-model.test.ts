import { DROPPED_OUTPUT } from '../../../src/contract/transcript';
import { offlineModel } from '../../../src/models/offline/offline-model';
import { ALL_TOOLS, requestOf, talk, type Call } from './talk';

const FILES: Readonly<Record<string, string>> = {
  'a.txt': 'one colour, two colour\n',
  'b/c.txt': 'no colour\n',
  'd.txt': 'plain\n',
};

const denied = 'Error [denied]: ann denied this call: not this file. Nothing ran.';

/** A small workspace as the pack answers; `edits` says what becomes of each write. */
function workspace(edits: Readonly<Record<string, string>> = {}) {
  return (tool: string, args: Call[1]): string => {
    const path = String(args['path']);
    if (tool === 'read_file') return FILES[path] ?? `Error [tool]: There is no file "${path}".`;
    if (tool !== 'search_files') return edits[path] ?? `Wrote ${path} (12 bytes).`;
    const query = String(args['query']);
    const hits = Object.entries(FILES).filter(([, text]) => text.includes(query));
    return hits.map(([file, text]) => `${file}:1: ${text.trim()}`).join('\n') || `No file has "${query}".`;
  };
}

const edit = (path: string): Call => [
  'edit_file',
  { path, edits: [{ old_text: 'colour', new_text: 'color' }], replace_all: true },
];
const search: Call = ['search_files', { query: 'colour' }];
const read = (path: string): Call => ['read_file', { path }];
const words = "replace 'colour' with 'color' in all files";

it('searches, reads, proposes one edit a file, and tells what happened', async () => {
  const { steps, answer } = await talk(words, workspace());
  expect(steps).toEqual([[search], [read('a.txt'), read('b/c.txt')], [edit('a.txt'), edit('b/c.txt')]]);
  expect(answer).toContain('no language model');
  expect(answer).toContain('an edit was made in 2 of 2 files');
  expect(answer).toContain('Wrote b/c.txt');
});

it.each<[string, Record<string, string>, string[]]>([
  ['a denial', { 'a.txt': denied }, ['1 of 2 files', 'denied by a person', 'not this file']],
  ['two denials', { 'a.txt': denied, 'b/c.txt': denied }, ['0 of 2 files']],
  [
    "a person's edit",
    {
      'a.txt':
        '[ann changed the arguments of this call before it ran. Reason: British]\n\nWrote a.txt (3 bytes).'.replace(
          'British]',
          'British\n  edits: "x" → "y"\nThe result below is of the changed call. Do not ask for the original again.]',
        ),
    },
    [
      '2 of 2 files',
      'ann changed the arguments',
      'Reason: British',
      'edits: "x" → "y"',
      'Wrote a.txt (3 bytes)',
    ],
  ],
  [
    "a person's edit that failed",
    { 'a.txt': '[ann changed the arguments of this call before it ran.\n  x]\n\nError [tool]: no such text' },
    ['1 of 2 files', 'ann changed', 'no such text'],
  ],
  [
    'a remark',
    { 'a.txt': '[ann approved this call. Reason: fine]\n\nWrote a.txt.' },
    ['2 of 2', 'Reason: fine'],
  ],
  [
    'rejected hunks',
    {
      'a.txt':
        'Wrote a.txt (9 bytes). A person rejected part of the change: hunk 2 (lines 4–4). Do not propose that part again.',
    },
    ['rejected part of the change: hunk 2'],
  ],
  [
    'a conflict',
    { 'a.txt': 'Error [conflict]: Conflict: "a.txt" is not what was approved' },
    ['1 of 2', 'not what was approved'],
  ],
  [
    'an expiry',
    { 'a.txt': 'Error [expired]: Nobody decided on this call in time.' },
    ['1 of 2', 'nobody decided'],
  ],
  ['a doubt', { 'a.txt': 'Error [in_doubt]: Unresolved' }, ['1 of 2', 'nobody knows whether it happened']],
  [
    'a policy',
    { 'a.txt': 'Error [refused]: Policy refused this call: no.' },
    ['1 of 2', 'refused by policy'],
  ],
  ['a code it does not know', { 'a.txt': 'Error [brand_new]: hm' }, ['Error [brand_new]: hm']],
])('tells of %s and asks for nothing again', async (_, edits, told) => {
  const { steps, answer } = await talk(words, workspace(edits));
  expect(steps).toHaveLength(3);
  for (const part of told) expect(answer).toContain(part);
});

it.each<[string, string, Call[][], string]>([
  [
    'files without the text',
    "replace 'colour' with 'color' in a.txt and d.txt",
    [[read('a.txt'), read('d.txt')], [edit('a.txt')]],
    "d.txt does not contain 'colour'",
  ],
  [
    'a file that is not there',
    "replace 'colour' with 'color' in z.txt",
    [[read('z.txt')]],
    'There is no file "z.txt"',
  ],
  [
    'text that is nowhere',
    "replace 'x:5: y' with 'z'",
    [[['search_files', { query: 'x:5: y' }]]],
    "no file contains 'x:5: y'",
  ],
  ['the same text twice', "replace 'a' with 'a'", [], 'the two texts are the same'],
  ['lines without a file', "replace 'a\nb' with 'c'", [], 'needs the name of its file'],
])('replaces nothing needlessly: %s', async (_, request, steps, told) => {
  const done = await talk(request, workspace());
  expect(done.steps).toEqual(steps);
  expect(done.answer).toContain(told);
});

describe('tools that are missing', () => {
  const without = (...names: string[]) => ALL_TOOLS.filter((name) => !names.includes(name));

  it.each<[string, string[], Call]>([
    [
      'edit_file',
      without('edit_file'),
      ['propose_file_edit', { path: 'a.txt', new_content: 'one color, two color\n' }],
    ],
    [
      'both',
      without('edit_file', 'propose_file_edit'),
      ['write_file', { path: 'a.txt', content: 'one color, two color\n' }],
    ],
    ['read_file', without('read_file'), edit('a.txt')],
  ])('%s: another way is taken', async (_, tools, call) => {
    const { steps } = await talk("replace 'colour' with 'color' in a.txt", workspace(), tools);
    expect(steps.at(-1)).toEqual([call]);
  });

  it.each([
    ['list files', ['read_file']],
    ['delete a.txt', ['read_file']],
    ['create a.txt', ['write_file']],
    ['search for x', []],
    ["replace 'a' with 'b' in c", ['read_file']],
    ["replace 'a' with 'b' in c", ['propose_file_edit']],
    ["replace 'a' with 'b'", ['read_file', 'edit_file']],
  ])('%s with %j is not done', async (request, tools) => {
    const { steps, answer } = await talk(request, workspace(), tools);
    expect(steps).toEqual([]);
    expect(answer).toContain('this agent has no tool');
  });

  it('a file that was cut is not written anew', async () => {
    const cutFile = () => `colour\n[... 900 bytes left out ...]\n`;
    const { steps, answer } = await talk("replace 'colour' with 'b' in c", cutFile, without('edit_file'));
    expect(steps).toEqual([[read('c')]]);
    expect(answer).toContain('too long');
  });
});

describe('several requests', () => {
  const chain = 'read a.txt, then replace colour with color in b/c.txt, and then run npm test\ndelete d.txt';

  it('are worked through in order', async () => {
    const { steps, answer } = await talk(chain, workspace());
    const tools = steps.map((step) => step.map(([tool]) => tool));
    expect(tools).toEqual([['read_file'], ['read_file'], ['edit_file'], ['run_command'], ['delete_file']]);
    expect(answer).toMatch(
      /1\. read_file a\.txt[^]*2\. [^]*3\. run_command npm test[^]*4\. delete_file d\.txt/,
    );
  });

  it('end where one was not done', async () => {
    const { steps, answer } = await talk(chain, workspace({ 'b/c.txt': denied }));
    expect(steps).toHaveLength(3);
    expect(answer).toContain('Not tried, because the request before it was not done: run npm test');
    expect(answer).toContain('Not tried, because the request before it was not done: delete d.txt');
  });
});

it('takes many files in several steps', async () => {
  const hits = Array.from({ length: 40 }, (_, index) => `f${index}.txt:1: x`).join('\n');
  const { steps, answer } = await talk("replace 'x' with 'y'", (tool) =>
    tool === 'search_files' ? `${hits}\n(more hits; narrow the search)` : 'Wrote it.',
  );
  expect(steps.map((step) => step.length)).toEqual([1, 16, 16, 8]);
  expect(answer).toContain('40 of 40 files');
  expect(answer).toContain('The list of files was cut');
});

it('says so when the list of files is no longer there', async () => {
  const { answer } = await talk(words, () => DROPPED_OUTPUT);
  expect(answer).toContain('left the transcript');
});

it('searches one file where the path is not a folder', async () => {
  const { steps, answer } = await talk('search for x in a.txt', (_, args) =>
    'glob' in args ? 'a.txt:1: x' : 'Error [tool]: "a.txt" is not a folder.',
  );
  expect(steps[1]).toEqual([['search_files', { query: 'x', glob: 'a.txt' }]]);
  expect(answer).toContain('a.txt:1: x');
});

it('works on the last words of a person only', async () => {
  const reply = await offlineModel({ id: 'mine' }).generate(
    requestOf([
      { role: 'user', content: 'read a.txt' },
      { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'read_file', arguments: '{}' }] },
      { role: 'tool', toolCallId: '1', toolName: 'read_file', content: 'x' },
      { role: 'assistant', content: 'done', toolCalls: [] },
      { role: 'user', content: 'read b.txt' },
    ]),
  );
  expect(reply).toEqual({
    text: '',
    finishReason: 'tool-calls',
    toolCalls: [{ id: 'offline_1_1', name: 'read_file', arguments: '{"path":"b.txt"}' }],
  });
});

it.each([
  ['no messages', []],
  [
    'results that are missing',
    [
      { role: 'user' as const, content: words },
      { role: 'assistant' as const, content: '', toolCalls: [] },
    ],
  ],
])('answers with %s', async (_, messages) => {
  expect((await offlineModel().generate(requestOf(messages))).text).toContain('no language model');
});

it('cuts long outputs in its answer', async () => {
  const { answer } = await talk('read a.txt', () => 'y'.repeat(100_000));
  expect(answer.length).toBeLessThan(5000);
  expect(answer).toContain('96000 characters more');
});

it('stops at an aborted signal', async () => {
  const request = { ...requestOf([]), signal: AbortSignal.abort(new Error('enough')) };
  await expect(offlineModel().generate(request)).rejects.toThrow('enough');
});
