import {
  replayFindingLines,
  refuseMistakes,
  replayProgressLine,
  sumLine,
  taskTimeoutOf,
} from '../../../src/cli/commands/replay';
import type { ReplayOptions } from '../../../src/cli/replay/judge-runs';
import { createStyle } from '../../../src/cli/print/screen';
import { escapeText } from '../../../src/contract/text/escape';
import type { ReplayFinding } from '../../../src/history/replay/explain';

type ReplaySum = Parameters<typeof sumLine>[0];

const look = { width: 200, style: createStyle(false) };
const told = (finding: ReplayFinding, runId?: string): string[] =>
  replayFindingLines({ turn: 't', events: 9, finding, ...(runId === undefined ? {} : { runId }) }, look);

it.each([
  [{ runs: 0, done: 0, gone: 0 }, 'listing turns'],
  [{ runs: 9, done: 0, gone: 0 }, 'replayed 0 of 9'],
  [{ runs: 9, done: 3, gone: 1 }, 'replayed 4 of 9'],
])('progress %j', (progress, line) => {
  expect(replayProgressLine(progress)).toBe(line);
});

it('a run that replays is not shown', () => {
  expect(replayFindingLines({ turn: 't', events: 9 }, look)).toEqual([]);
});

it.each<[finding: ReplayFinding, lines: RegExp[]]>([
  [
    { kind: 'other', eventId: 25, step: 1, callId: '1.2', history: 'a', code: 'b', message: 'm' },
    [
      /^t does not replay: the code does something else now$/,
      /where +step 1, call 1\.2, event #25$/,
      /history +a$/,
      /the code +b$/,
      /Temporal says +m$/,
    ],
  ],
  [
    { kind: 'missing', eventId: 5, history: 'a' },
    [
      /does not do what history has$/,
      /where +event #5$/,
      /history +a$/,
      /the code +does nothing there: it waits, or has ended$/,
    ],
  ],
  [
    { kind: 'extra', eventId: 5, code: 'b' },
    [/history does not have$/, /where/, /history +has nothing there$/, /the code +b$/],
  ],
  [
    { kind: 'threw', eventId: 5, code: 'fails: x' },
    [/the code fails$/, /where/, /history +goes on$/, /the code +fails: x$/],
  ],
  [
    { kind: 'stuck', eventId: 21, step: 1, history: 'a', code: 'works for 20 s and does not come to rest' },
    [
      /the code does not come to rest$/,
      /where +step 1, event #21$/,
      /history +a$/,
      /the code +works for 20 s and does not come to rest$/,
    ],
  ],
  [
    { kind: 'stuck', eventId: 3, code: 'takes all memory' },
    [/does not come to rest$/, /where/, /history +goes on$/, /the code +takes all memory$/],
  ],
  [
    { kind: 'no_workflow', eventId: 1, message: 'm' },
    [/no workflow of this type$/, /where/, /Temporal says +m$/],
  ],
  [{ kind: 'unreadable', eventId: 1, why: 'no key' }, [/cannot be read here$/, /where/, /why +no key$/]],
  [{ kind: 'unknown', eventId: 7 }, [/Temporal cannot match it with the code$/, /where +event #7$/]],
])('%j', (finding, lines) => {
  expect(told(finding)).toEqual([...lines.map((line) => expect.stringMatching(line)), '']);
});

it.each([
  ['r1', true],
  ['', false],
  [undefined, false],
])('the run %s is named: %s', (runId, named) => {
  expect(told({ kind: 'unknown', eventId: 7 }, runId).some((line) => /^ +run +r1$/.test(line))).toBe(named);
});

it('what somebody else wrote cannot drive the terminal', () => {
  const lines = told({
    kind: 'other',
    eventId: 5,
    callId: '\u001b[2J',
    code: '\u001b[1m',
    message: '\u0007',
  });
  expect(lines.map((line) => escapeText(line))).toEqual(lines);
});

const sum: ReplaySum = { replayed: 3, failed: 0, gone: 0, events: 1234, ms: 1500 };

it.each<[Partial<ReplaySum>, string]>([
  [{}, 'all 3 runs replay (1,234 events in 1.5 s)'],
  [{ replayed: 1 }, '1 run replays (1,234 events in 1.5 s)'],
  [{ failed: 2 }, '2 of 5 runs do not replay (1,234 events in 1.5 s)'],
  [{ gone: 2 }, 'all 3 runs replay (1,234 events in 1.5 s; 2 were deleted meanwhile)'],
  [{ replayed: 0 }, 'Nothing to replay.'],
  [{ replayed: 0, gone: 1 }, 'Nothing to replay; 1 were deleted meanwhile.'],
])('the sum of %j: %s', (more, line) => {
  expect(sumLine({ ...sum, ...more }, look)).toBe(line);
});

describe('options that do not go together', () => {
  it.each<[string, string | undefined, ReplayOptions, RegExp]>([
    ['neither a turn nor a batch', undefined, {}, /nothing is named to replay/],
    ['a turn and --last', 't-1', { last: '5' }, /a turn goes without --last and --query/],
    ['a turn and --query', 't-1', { query: 'x' }, /a turn goes without --last and --query/],
  ])('%s are refused', (_, named, extra, message) => {
    expect(() => refuseMistakes(named, extra)).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
    );
  });

  it.each<[string, string | undefined, ReplayOptions]>([
    ['a turn', 't-1', {}],
    ['--last', undefined, { last: '5' }],
    ['--last and --query', undefined, { last: '5', query: 'x' }],
  ])('%s is accepted', (_, named, extra) => {
    expect(() => refuseMistakes(named, extra)).not.toThrow();
  });
});

describe('the deadline of a workflow task', () => {
  it.each<[string | undefined, number]>([
    [undefined, 20_000],
    ['500ms', 500],
    ['1', 1000],
    ['2m', 120_000],
  ])('%j is %d ms', (taskTimeout, ms) => {
    expect(taskTimeoutOf(taskTimeout === undefined ? {} : { taskTimeout })).toBe(ms);
  });

  it.each(['0', '0s', 'soon', '-1'])('%j is refused', (taskTimeout) => {
    expect(() => taskTimeoutOf({ taskTimeout })).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
