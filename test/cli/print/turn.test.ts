import { callLines, pendingLines } from '../../../src/cli/print/turn';
import type { DecisionMade } from '../../../src/history/events';
import { AT, call, NOW, testScreen } from '../support';

const decision = (n: number, accepted: boolean): DecisionMade => ({
  type: 'decision',
  eventId: n,
  at: AT,
  callId: '1.1',
  approver: `eve-${n}`,
  channel: 'signal',
  door: 'signal',
  identity: 'cli@host',
  decision: 'approved',
  judgement: accepted ? { accepted: true } : { accepted: false, code: 'already_decided' },
});

it('a flood of refused decisions is shown in short: the newest, the accepted one, and how many there are', () => {
  const decisions = Array.from({ length: 3000 }, (_, n) => decision(n, n === 0));
  const lines = callLines(call({ phase: 'done', decisions }), { turn: 't', screen: testScreen(), now: NOW });
  const text = lines.join('\n');
  expect(text.length).toBeLessThan(5_000);
  expect(text).toContain('approved by eve-0');
  expect(text).toContain('eve-2999');
  expect(text).not.toContain('eve-2900 ');
  expect(text).toContain('2979 more that were refused; the whole turn shows them');
});

it('says that an approval is not bound to what was seen', () => {
  const decisions = [{ ...decision(1, true), unbound: true as const }];
  const lines = callLines(call({ phase: 'done', decisions }), { turn: 't', screen: testScreen(), now: NOW });
  expect(lines.join('\n')).toMatch(/approved by eve-1.*not bound to what was seen/);
});

it('says what the policy rules said of a call', () => {
  const ruling = { rule: 'small\u001b', digest: 'x', then: 'run' } as const;
  const shown = call({ phase: 'done', ruling });
  const lines = callLines(shown, { turn: 't', screen: testScreen(), now: NOW }).join('\n');
  expect(lines).toMatch(/^policy +the rule 'small\\x1b' lets it run$/m);
});

describe('what runs right now', () => {
  it.each([
    [
      'call that runs',
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
      'question to the model that waits',
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
  ] as const)('a %s', (_what, activity, line) => {
    expect(pendingLines({ activities: [activity], idleQueues: [] }, NOW)).toEqual([line]);
  });

  it('names queues that nobody works on', () => {
    expect(pendingLines({ activities: [], idleQueues: ['gpu'] }, NOW).join('')).toContain('the queue gpu');
  });

  it('names the agent that no worker has', () => {
    const lacks = { agent: 'support', there: ['clerk'] };
    expect(pendingLines({ activities: [], idleQueues: [], lacks }, NOW)).toEqual([
      'no worker has the agent support: those of its queue have clerk. An approved call would wait for one',
    ]);
  });
});
