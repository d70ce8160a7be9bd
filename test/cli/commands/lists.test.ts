import type { InboxItem, TurnSummary } from '../../../src/client/types';
import { findingLines, verdictOf } from '../../../src/cli/commands/doctor';
import { inboxLines } from '../../../src/cli/print/inbox';
import { listLines } from '../../../src/cli/commands/list';
import { checkNode } from '../../../src/cli/doctor/machine';
import type { Finding } from '../../../src/cli/doctor/check';
import { pendingLines } from '../../../src/cli/print/pending';
import { widthOf } from '../../../src/cli/print/width';
import { AT, NOW, testScreen } from '../support';

const item = (extra: Partial<InboxItem> = {}): InboxItem => ({
  turn: 't-1',
  agent: 'clerk',
  callId: '1.1',
  callKey: 'k',
  kind: 'request',
  tool: 'pay',
  summary: '1.1 pay amount=10',
  since: '2026-11-21T11:58:00.000Z',
  deadline: null,
  prompt: 'pay ann',
  ...extra,
});

const summary = (extra: Partial<TurnSummary> = {}): TurnSummary => ({
  turn: 't-1',
  runId: 'r',
  agent: 'clerk',
  state: 'waiting',
  pending: 2,
  prompt: 'pay\nann\x1b[2J',
  startedAt: '2026-11-21T11:00:00.000Z',
  endedAt: null,
  ...extra,
});

describe('the inbox', () => {
  const print = (items: InboxItem[], width = 120) =>
    inboxLines(items, { screen: testScreen(width), command: (args) => `cs ${args}` }, NOW);

  it('says when it is empty', () => {
    expect(print([])).toEqual(['Nothing waits for a person.']);
  });

  it('lists what waits', () => {
    expect(print([item(), item({ callId: '1.2', kind: 'in_doubt', summary: '1.2 mail' })])).toEqual([
      'CALL     WHAT      AGENT  WAITS  EXPIRES  CALLS FOR',
      't-1/1.1  request   clerk  2 min  never    pay amount=10',
      't-1/1.2  in doubt  clerk  2 min  never    mail',
    ]);
  });

  it.each([40, 60, 80])('fits %d columns', (width) => {
    for (const line of print([item({ summary: `1.1 pay ${'x'.repeat(200)}` })], width))
      expect(widthOf(line)).toBeLessThanOrEqual(width);
  });
});

describe('the list of turns', () => {
  it('says when there are none', () => {
    expect(listLines([], testScreen(), NOW)).toEqual(['There are no turns.']);
  });

  it('lists them', () => {
    const lines = listLines(
      [summary(), summary({ turn: 't-2', state: 'timed_out', pending: 0 })],
      testScreen(),
      NOW,
    );
    expect(lines).toEqual([
      'TURN  STATE                   AGENT  STARTED     ASKED',
      't-1   waits for a person (2)  clerk  60 min ago  pay\\nann\\x1b[2J',
      't-2   timed out               clerk  60 min ago  pay\\nann\\x1b[2J',
    ]);
  });
});

describe('what runs right now', () => {
  it.each([
    [
      {
        what: 'call',
        callId: '1.1',
        name: 'pay',
        state: 'started',
        taskQueue: 'q',
        attempt: 2,
        maximumAttempts: 5,
        worker: 'w',
        startedAt: '2026-11-21T11:59:50.000Z',
      },
      '1.1 pay runs for 10 s on w, attempt 2',
    ],
    [
      {
        what: 'think',
        name: 'countersign.think',
        state: 'scheduled',
        taskQueue: 'q',
        attempt: 1,
        maximumAttempts: 0,
        lastFailure: 'x\x07',
      },
      'the model waits for a worker (last failure: x\\x07)',
    ],
  ] as const)('%#', (activity, line) => {
    expect(pendingLines({ activities: [activity], idleQueues: [] }, NOW)).toEqual([line]);
  });

  it('names queues that nobody works on', () => {
    expect(pendingLines({ activities: [], idleQueues: ['gpu'] }, NOW).join('')).toContain('the queue gpu');
  });
});

describe('doctor', () => {
  const finding = (state: Finding['state'], name = 'x'): Finding => ({ name, state, detail: AT });

  it.each<[string, Finding[], number]>([
    ['all well', [finding('ok'), finding('warning')], 0],
    ['something bad', [finding('ok'), finding('bad')], 1],
    ['no server', [finding('bad', 'server'), finding('bad'), finding('skipped')], 5],
  ])('%s', (_name, findings, exit) => {
    expect(verdictOf(findings)).toBe(exit);
  });

  it.each([
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
    ['20.18.9', 'bad'],
    ['18.20.0', 'bad'],
  ])('Node.js %s is %s', (version, state) => {
    expect(checkNode(version).state).toBe(state);
  });

  it('says what to do below what is wrong', () => {
    const findings: Finding[] = [
      { name: 'server', state: 'bad', detail: 'no answer', todo: 'Start\nit' },
      finding('ok'),
    ];
    expect(findingLines(findings, testScreen(80))).toEqual([
      'bad   server  no answer',
      '              Start',
      '              it',
      `ok    x       ${AT}`,
    ]);
  });

  it('stacks on a narrow screen', () => {
    expect(findingLines([finding('ok', 'a rather long name')], testScreen(40))).toEqual([
      'ok    a rather long name',
      `      ${AT}`,
    ]);
  });
});
