import { ACTIVITIES, MEMO, SIGNALS, UPDATES, WORKFLOWS } from '../../../src/contract/names';
import type { SessionRefusal } from '../../../src/contract/session';
import type { DecodedEvent } from '../../../src/history/decode/events';
import { createSessionFold } from '../../../src/history/session/events';
import { sessionViewOf } from '../../../src/history/session/view';

const AT = '2026-11-24T00:00:00.000Z';

/** A step of a hand-made history, without number and time. */
type Step = (eventId: number) => DecodedEvent;

const started = (carried?: object): Step => {
  const head = { kind: 'started', at: AT, turn: 's', runId: 'r', taskQueue: 'q' } as const;
  return (eventId) => ({
    ...{ ...head, eventId, workflowType: WORKFLOWS.session },
    input: carried === undefined ? { agent: 'a' } : { agent: 'a', carried },
  });
};
const said = (messageId: string, text = messageId) => ({ messageId, text, mode: 'queue' });
const bySignal = (messageId: string, text?: string): Step => {
  const input = said(messageId, text);
  return (eventId) => ({ kind: 'signaled', eventId, at: AT, name: SIGNALS.send, input, identity: '' });
};
const byUpdate = (messageId: string): Step => {
  const what = { name: UPDATES.send, input: said(messageId), updateId: messageId, identity: '' };
  return (eventId) => ({ kind: 'update_accepted', eventId, at: AT, ...what });
};
const failed = (messageId: string, type: string): Step => {
  const failure = { message: 'no', kind: 'application' as const, type, details: [] };
  return (eventId) => ({
    kind: 'update_completed',
    ...{ eventId, at: AT, updateId: messageId, value: undefined, failure },
  });
};
const memo = (...refused: { messageId?: string; code: SessionRefusal }[]): Step => {
  const now = { agent: 'a', state: 'running', turns: 1, waiting: 0, text: '', refused };
  return (eventId) => ({ kind: 'memo', eventId, at: AT, fields: { [MEMO.session]: now } });
};

const fold = (steps: readonly Step[]) => {
  const one = createSessionFold();
  return steps.flatMap((step, index) => one(step(index + 1)) ?? []);
};

const FULL = { messageId: 'm', code: 'full' } as const;
const CHANGED = { messageId: 'm', code: 'exists' } as const;
const other = { messageId: 'other', code: 'refused' } as const;

test.each<[string, Step[], string[], number]>([
  ['was taken', [bySignal('m'), memo()], ['m'], 0],
  ['came by signal and found no room', [bySignal('m'), memo(FULL)], [], 1],
  ['was sent again when there was room', [bySignal('m'), memo(FULL), byUpdate('m'), memo(FULL)], ['m'], 1],
  [
    'is there, and came again with another text',
    [bySignal('m'), bySignal('m', 'x'), memo(CHANGED)],
    ['m'],
    1,
  ],
  ['was taken long before it found no room', [byUpdate('m'), bySignal('m'), memo(FULL)], ['m'], 1],
  ['came too late, as another one', [bySignal('m'), bySignal('other'), memo(FULL), memo(FULL, other)], [], 2],
  ['was accepted by update, and then found no room', [byUpdate('m'), failed('m', 'full')], [], 1],
  ['whose update failed in another way', [byUpdate('m'), failed('m', 'TypeError')], ['m'], 0],
  ['nobody can name', [bySignal('m'), memo({ code: 'malformed' })], ['m'], 0],
  ['an earlier run refused', [bySignal('m'), memo(FULL), started({ memory: [], waiting: [] })], [], 1],
])('a message that %s', (_case, steps, waiting, refusals) => {
  const events = fold([started(), ...steps]);
  expect(events.filter(({ type }) => type === 'message_refused')).toHaveLength(refusals);
  const view = sessionViewOf(events);
  expect(view?.waiting.map(({ messageId }) => messageId)).toEqual(waiting);
  expect(view?.messages.map(({ messageId }) => messageId)).toEqual(waiting);
});

describe('a summary that somebody asks for by signal', () => {
  const asked: Step = (eventId) => ({
    ...{ kind: 'signaled', eventId, at: AT, name: SIGNALS.control, identity: '' },
    input: { action: 'compact', sender: 'ann' },
  });
  const head = (eventId: number) => ({ eventId, at: AT });
  const begins = (child: string): Step => {
    const input = { agent: 'a', prompt: 'p', ...{ attempt: 1, spawn: [] } };
    return (eventId) => ({ kind: 'child_initiated', ...head(eventId), child, input });
  };
  const ends = (child: string): Step => {
    const end = { kind: 'cancelled' } as const;
    return (eventId) => ({ kind: 'child_ended', ...head(eventId), child, end });
  };
  const taken = (child: string): Step => {
    return (eventId) => ({ kind: 'child_not_started', ...head(eventId), child });
  };
  const turn = (n: number): Step[] => [begins(`s.t${n}`), ends(`s.t${n}`)];
  const remembered = { turn: 't', status: 'answered', messageId: 'm', took: [], entries: [] };
  const goesOn = (turns: number): Step =>
    started({ memory: Array.from({ length: turns }, () => remembered), waiting: [] });
  const summarized: Step[] = [
    (eventId) => ({
      ...{ kind: 'activity_scheduled', ...head(eventId), id: 'c', taskQueue: 'q' },
      ...{ activityType: ACTIVITIES.compact, input: { turns: 1 } },
    }),
    (eventId) => ({
      ...{ kind: 'activity_completed', ...head(eventId), scheduledEventId: eventId - 1, identity: '' },
      result: { text: 'S', model: 'm' },
    }),
  ];

  test.each<[string, Step[], boolean]>([
    ['before any turn', [], true],
    ['with one turn', turn(1), true],
    ['while the second turn runs', [...turn(1), begins('s.t2')], false],
    ['while the second turn gets another name', [...turn(1), begins('s.t2'), taken('s.t2')], true],
    ['with two turns', [...turn(1), ...turn(2)], false],
    ['after a summary', [...turn(1), ...turn(2), ...summarized], true],
    ['in a run that goes on with one turn', [...turn(1), ...turn(2), goesOn(1)], true],
    ['in a run that goes on with two turns', [goesOn(2)], false],
  ])('%s', (_case, steps, isRefused) => {
    const event = fold([started(), ...steps, asked]).at(-1);
    expect(event).toMatchObject({ type: 'control', action: 'compact', sender: 'ann' });
    const why = event?.type === 'control' ? event.refused : 'no control';
    expect(why).toBe(isRefused ? 'refused' : undefined);
  });
});
