import type { ModelMessage } from '../../../src/models/model';
import {
  askAll,
  CALLS_PER_STEP,
  cut,
  describeChange,
  describeRead,
  lacking,
  type Plan,
  type PlannedCall,
  planReplace,
  type OfflineReport,
  type Round,
  sinceLastWords,
} from '../../../src/models/offline/plan';

/** Follows a plan; `answer` gives the content of each call's result. */
function follow(
  plan: Plan,
  answer: (call: PlannedCall) => string,
): { steps: PlannedCall[][]; report: OfflineReport } {
  const steps: PlannedCall[][] = [];
  let state = plan.next();
  while (state.done !== true) {
    steps.push(state.value);
    const messages = state.value.map((call): ModelMessage => {
      return { role: 'tool', toolCallId: 'x', toolName: call.tool, content: answer(call) };
    });
    const start: ModelMessage[] = [
      { role: 'user', content: '' },
      { role: 'assistant', content: '', toolCalls: [] },
    ];
    const [round = []] = sinceLastWords([...start, ...messages]).rounds;
    state = plan.next(round);
  }
  return { steps, report: state.value };
}

const call = (path: string): PlannedCall => ({ tool: 'delete_file', arguments: { path } });
const roundOf = (content: string): Round => {
  const { rounds } = sinceLastWords([
    { role: 'user', content: 'x' },
    { role: 'assistant', content: '', toolCalls: [] },
    { role: 'tool', toolCallId: 'x', toolName: 'delete_file', content },
  ]);
  return rounds[0] ?? [];
};

describe('what a conversation says', () => {
  it('counts from the last words of the user', () => {
    const { words, rounds } = sinceLastWords([
      { role: 'user', content: 'old' },
      { role: 'assistant', content: '', toolCalls: [] },
      { role: 'user', content: 'new' },
      { role: 'assistant', content: '', toolCalls: [] },
      { role: 'tool', toolCallId: '1', toolName: 'a', content: 'one' },
      { role: 'assistant', content: '', toolCalls: [] },
    ]);
    expect(words).toBe('new');
    expect(rounds).toEqual([[{ tool: 'a', text: 'one', dropped: false }], []]);
  });

  it('is nothing where nobody spoke', () => {
    expect(sinceLastWords([])).toEqual({ words: '', rounds: [] });
  });

  it.each<[string, string, object]>([
    ['a result', 'deleted', { text: 'deleted' }],
    ['an error', 'Error [denied]: not today', { text: 'not today', failure: 'denied' }],
    ['an unknown code, which is text', 'Error [nonsense]: x', { text: 'Error [nonsense]: x' }],
    [
      'the note of a person before a result',
      '[ann approved this call. Reason: fine]\n\ndeleted',
      { text: 'deleted', note: 'ann approved this call. Reason: fine' },
    ],
    ['brackets that are not a note', '[1, 2]\n\n3', { text: '[1, 2]\n\n3' }],
  ])('reads %s', (_, content, expected) => {
    expect(roundOf(content)[0]).toEqual({ tool: 'delete_file', dropped: false, ...expected });
  });
});

it('asks for a few calls a step, and gives each its outcome', () => {
  const calls = Array.from({ length: CALLS_PER_STEP + 2 }, (_, n) => call(`${n}.txt`));
  const plan = askAll(calls);
  const sizes: number[] = [];
  let state = plan.next();
  while (state.done !== true) {
    sizes.push(state.value.length);
    state = plan.next(
      state.value.map(({ arguments: args }) => ({ tool: 't', text: String(args['path']), dropped: false })),
    );
  }
  expect(sizes).toEqual([CALLS_PER_STEP, 2]);
  expect(state.value.map((outcome) => outcome?.text)).toEqual(calls.map(({ arguments: { path } }) => path));
});

describe('words for an outcome', () => {
  it.each<[string, string, string]>([
    ['a success', 'Deleted a.txt.', 'delete_file a.txt: done.\n  Deleted a.txt.'],
    ['a denial', 'Error [denied]: no', 'delete_file a.txt: not done, denied by a person.\n  no'],
    ['an error of the tool', 'Error [tool]: gone', 'delete_file a.txt: not done, tool.\n  gone'],
  ])('%s', (_, content, words) => {
    expect(describeChange(call('a.txt'), roundOf(content)[0])).toBe(words);
  });

  it('no result is known', () => {
    expect(describeRead(call('a.txt'), undefined)).toBe('delete_file a.txt: no result is known.');
  });

  it('a change is cut sooner than what was read', () => {
    const [outcome] = roundOf('x'.repeat(5000));
    expect(describeChange(call('a'), outcome)).toContain('… (4500 characters more)');
    expect(describeRead(call('a'), outcome)).toContain('… (1000 characters more)');
  });

  it('a tool that is missing', () => {
    const lines = ['Not done: this agent has no tool a or b.'];
    expect(lacking('a', 'b')).toEqual({ lines, failed: true });
  });

  it.each([
    ['as long as the limit', 'abc', 3, 'abc'],
    ['longer', 'abcd', 3, 'abc… (1 characters more)'],
    ['empty', '', 3, ''],
  ])('a text %s', (_, text, limit, expected) => {
    expect(cut(text, limit)).toBe(expected);
  });
});

describe('replacing', () => {
  const all = new Set(['search_files', 'read_file', 'edit_file', 'propose_file_edit', 'write_file']);
  const intent = { kind: 'replace', from: 'colour', to: 'color' } as const;

  it.each<[string, Parameters<typeof planReplace>[0], Set<string>, RegExp]>([
    ['no tool that writes', intent, new Set(['search_files', 'read_file']), /no tool edit_file or propose/],
    ['a writer, but none that reads', intent, new Set(['write_file']), /no tool edit_file or read_file/],
    ['two equal texts', { ...intent, to: 'colour' }, all, /the two texts are the same/],
    ['no search, and no file named', intent, new Set(['edit_file']), /no tool search_files; name the files/],
    ['several lines, and no file named', { ...intent, from: 'a\nb' }, all, /needs the name of its file/],
  ])('asks for nothing with %s', (_, given, tools, line) => {
    const { steps, report } = follow(planReplace(given, tools), () => 'never asked');
    expect(steps).toEqual([]);
    expect(report).toEqual({ lines: [expect.stringMatching(line)], failed: true });
  });

  it('finds the files, reads them, and edits those that have the text', () => {
    const { steps, report } = follow(
      planReplace({ ...intent, under: 'src' }, all),
      ({ tool, arguments: args }) => {
        if (tool === 'search_files') return 'src/a.ts:1: colour\nsrc/b.ts:2: colour\nsrc/a.ts:9: colour';
        if (tool === 'read_file') return args['path'] === 'src/a.ts' ? 'my colour' : 'written meanwhile';
        return 'Wrote it.';
      },
    );
    expect(steps.map((step) => step.map(({ tool }) => tool))).toEqual([
      ['search_files'],
      ['read_file', 'read_file'],
      ['edit_file'],
    ]);
    expect(steps[0]?.[0]?.arguments).toEqual({ query: 'colour', path: 'src' });
    expect(steps[2]?.[0]?.arguments).toEqual({
      path: 'src/a.ts',
      edits: [{ old_text: 'colour', new_text: 'color' }],
      replace_all: true,
    });
    expect(report.lines[0]).toBe("'colour' with 'color': an edit was made in 1 of 2 files.");
    expect(report.lines.join('\n')).toContain("src/b.ts does not contain 'colour'.");
    expect(report.failed).toBe(false);
  });

  it.each<[string, string, RegExp]>([
    ['no hit', 'No file has "colour".', /no file contains 'colour'/],
    ['a search that was refused', 'Error [refused]: no', /refused by policy/],
  ])('ends with %s', (_, found, line) => {
    const { steps, report } = follow(planReplace(intent, all), () => found);
    expect(steps).toHaveLength(1);
    expect(report.failed).toBe(true);
    expect(report.lines.join('\n')).toMatch(line);
  });

  it('writes the whole file where no tool edits a part of it', () => {
    const tools = new Set(['read_file', 'write_file']);
    const { steps } = follow(planReplace({ ...intent, paths: ['a.txt'] }, tools), ({ tool }) =>
      tool === 'read_file' ? 'colour, colour' : 'Wrote a.txt.',
    );
    expect(steps.at(-1)).toEqual([
      { tool: 'write_file', arguments: { path: 'a.txt', content: 'color, color' } },
    ]);
  });
});
