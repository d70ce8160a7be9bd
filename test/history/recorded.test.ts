import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import fc from 'fast-check';
import { makeDecode } from '../../src/history/decode/decode';
import type { DecodedEvent } from '../../src/history/decode/events';
import type { OpenMemo } from '../../src/contract/turn';
import { createFold, foldEvent } from '../../src/history/fold/fold';
import { is } from '../../src/history/fold/guards';
import { makeState } from '../../src/history/fold/state';
import { turnEventsOfJson } from '../../src/history/exported';
import { viewOf } from '../../src/history/view';
import { isOpen } from '../../src/lifecycle/state';
import { authorityOf } from '../../src/lifecycle/votes';
import { runs } from '../support/properties';
import { foldAll } from './script';

/** Histories of a real server and worker, one behaviour each. */
const directory = join(__dirname, '..', 'histories');
const names = readdirSync(directory).map((name) => name.replace('.json', ''));
const textOf = (name: string): string => readFileSync(join(directory, `${name}.json`), 'utf8');

const read = async (name: string): Promise<DecodedEvent[]> => {
  const decode = makeDecode();
  return Promise.all((historyFromJSON(JSON.parse(textOf(name))).events ?? []).map((event) => decode(event)));
};

const known = new Map<string, Promise<DecodedEvent[]>>();

/** Read once for all tests, none of which changes it. */
const decoded = (name: string): Promise<DecodedEvent[]> => {
  const events = known.get(name) ?? read(name);
  known.set(name, events);
  return events;
};

const typesOf = async (name: string, without: string[] = []): Promise<string[]> =>
  (await turnEventsOfJson(textOf(name))).map((event) => event.type).filter((type) => !without.includes(type));

test.each(names)('%s: one by one, all at once and in two parts come to the same', async (name) => {
  const events = await decoded(name);
  const all = foldAll(events);
  fc.assert(
    fc.property(fc.nat(events.length), (cut) => {
      const fold = createFold();
      const first = events.slice(0, cut).flatMap((event) => fold.push(event));
      const rest = events.slice(cut).flatMap((event) => fold.push(event));
      expect([...first, ...rest]).toEqual(all);
    }),
    { numRuns: runs(10) },
  );
});

test.each(names)('%s: folding never changes the events it reads', async (name) => {
  const events = await decoded(name);
  const before = structuredClone(events);
  foldAll(events);
  expect(events).toEqual(before);
});

test.each(names)(
  '%s: every call that started has ended, once, and every end is of a known call',
  async (name) => {
    const events = await turnEventsOfJson(textOf(name));
    const ids = (type: string) =>
      events.flatMap((event) => (event.type === type && 'callId' in event ? [event.callId] : []));
    const ended = ids('call_ended');
    expect(new Set(ended).size).toBe(ended.length);
    expect(ended).toEqual(expect.arrayContaining(ids('call_started')));
  },
);

/** What a workflow task cannot bring about. */
const OUTSIDE: readonly DecodedEvent['kind'][] = [
  ...(['activity_started', 'activity_completed', 'activity_failed', 'activity_canceled'] as const),
  ...(['signaled', 'task_scheduled', 'task_started', 'child_started', 'child_ended'] as const),
];

test.each(names)(
  '%s: after each workflow task, the calls that wait are those of the workflow',
  async (name) => {
    const state = makeState();
    let published: OpenMemo | undefined;
    for (const event of await decoded(name)) {
      if (published !== undefined && OUTSIDE.includes(event.kind)) {
        const waiting = [...state.approvals.calls.values()].filter(
          (life) => isOpen(life) || life.phase === 'in_doubt',
        );
        const shown = waiting.map((life) => ({
          ...{ callId: life.call.callId, kind: life.phase, note: life.note },
          seenDigest: life.phase === 'request' ? life.seenDigest : undefined,
          votes: authorityOf(life) && life.votes.map(({ voter }) => voter),
        }));
        const asked = published.items.map(({ callId, kind, seenDigest, note, voting }) => ({
          ...{ callId, kind, seenDigest, note, votes: voting?.votes.map(({ voter }) => voter) },
        }));
        expect(shown).toEqual(asked);
        published = undefined;
      }
      foldEvent(state, event);
      if (event.kind === 'memo' && 'open' in event.fields)
        published = is.openMemo(event.fields['open'])
          ? event.fields['open']
          : { key: '', count: 0, items: [] };
    }
  },
);

test.each(names)('%s: garbage in any payload gives events or none, never an exception', async (name) => {
  const events = await decoded(name);
  const garbage = fc.oneof(fc.constant(undefined), fc.constant(null), fc.jsonValue());
  fc.assert(
    fc.property(
      fc.nat(events.length - 1),
      fc.constantFrom('input', 'result', 'value', 'fields'),
      garbage,
      (at, key, value) => {
        const spoilt = events.map((event, index) =>
          index === at && key in event ? spoil(event, key, value) : event,
        );
        viewOf(foldAll(spoilt));
      },
    ),
    { numRuns: runs(60) },
  );
});

/** `fields` is always an object; what it holds may be anything. */
function spoil(event: DecodedEvent, key: string, value: unknown): DecodedEvent {
  return { ...event, [key]: key === 'fields' ? { open: value, verdicts: value } : value };
}

test('many: calls of each kind, an edit, signals good and bad, a decision with no worker up', async () => {
  const events = await turnEventsOfJson(textOf('many'));
  const decisions = events.flatMap((event) => (event.type === 'decision' ? [event] : []));
  expect(
    decisions.map(({ callId, decision, door, judgement }) => [callId, decision, door, judgement.accepted]),
  ).toEqual([
    ['1.3', 'modified', 'update', true],
    ['', undefined, 'signal', false],
    ['', undefined, 'signal', false],
    ['1.4', 'denied', 'signal', true],
    ['2.1', 'approved', 'signal', true],
  ]);
  const view = viewOf(events);
  expect(view).toMatchObject({
    status: 'answered',
    answer: 'done',
    requests: [],
    inDoubt: [],
    unjudged: 0,
  });
  expect(view.calls.map(({ callId, phase, result }) => [callId, phase, result?.error?.code])).toEqual([
    ['1.1', 'done', undefined],
    ['1.2', 'done', undefined],
    ['1.3', 'done', undefined],
    ['1.4', 'done', 'denied'],
    ['1.5', 'done', 'tool_not_found'],
    ['1.6', 'done', 'validation'],
    ['1.7', 'done', 'tool'],
    ['2.1', 'done', undefined],
  ]);
  expect(view.calls[2]).toMatchObject({
    arguments: { n: 2 },
    effective: { n: 22 },
    result: { arguments: { n: 22 } },
  });
});

test('asked: answers by update and by signal, a bad one, one declined and one question that expires', async () => {
  const view = viewOf(await turnEventsOfJson(textOf('asked')));
  expect(view).toMatchObject({ status: 'answered', questions: [], requests: [], unjudged: 0 });
  expect(view.calls.map(({ callId, outcome, result }) => [callId, outcome, result?.content])).toEqual([
    ['1.1', 'done', 'ann answered. Remark: soon 8\n\n{"age":7,"unit":"years"}'],
    ['1.2', 'denied', expect.stringContaining('bob declined to answer: mine.')],
    ['1.3', 'expired', expect.stringContaining('Nobody answered this question in time.')],
    ['1.4', 'done', 'look 1'],
    ['2.1', 'done', 'somebody answered.\n\n{"answer":"old"}'],
  ]);
  // Whether both were judged in one workflow task is chance, and their order with it.
  const byDoor = new Map(view.calls[0]?.answers.map((answer) => [answer.door, answer]));
  expect(byDoor.get('update')).toMatchObject({
    judgement: { accepted: true },
    content: { age: 7, unit: 'years' },
  });
  expect(byDoor.get('signal')).toMatchObject({ judgement: { accepted: false, code: 'validation' } });
});

test('expired-cancelled: one request runs out of time, the other is closed by cancelling', async () => {
  expect(await typesOf('expired-cancelled', ['thinking', 'step'])).toEqual([
    'turn_started',
    'request_opened',
    'request_opened',
    'request_expired',
    'cancel_requested',
    'call_ended',
    'call_ended',
    'turn_ended',
  ]);
  const view = viewOf(await turnEventsOfJson(textOf('expired-cancelled')));
  expect(view.calls.map(({ result }) => result?.error?.code)).toEqual(['expired', 'cancelled']);
});

test('lost: in doubt, run again, in doubt, happened; another did not', async () => {
  const view = viewOf(await turnEventsOfJson(textOf('lost')));
  expect(view.calls.map(({ callId, generation, result }) => [callId, generation, result?.success])).toEqual([
    ['1.1', 1, true],
    ['1.2', 0, true],
    ['2.1', 0, false],
  ]);
  expect(view.calls[0]?.resolutions.map((event) => event.resolution)).toEqual(['run-again', 'happened']);
});

test('replanned: a file proposal that was edited is asked for again with its new plan', async () => {
  const [first] = viewOf(await turnEventsOfJson(textOf('replanned'))).calls;
  expect(first?.request).toMatchObject({
    arguments: { n: 5 },
    proposed: { n: 1 },
    preview: { text: 'plan 5' },
  });
  expect(first?.decisions.map((event) => event.decision)).toEqual(['modified', 'approved']);
});

test('late: a call that was given up reports late, and that settles the doubt', async () => {
  const types = await typesOf('late', ['thinking', 'step']);
  expect(types.slice(types.indexOf('call_lost'))).toEqual([
    'call_lost',
    'verifying',
    'in_doubt',
    'verified',
    'outcome_reported',
    'call_ended',
    'turn_ended',
  ]);
});

test('abandoned: a cancelled turn ends with its call in doubt, and says who ended it', async () => {
  const view = viewOf(await turnEventsOfJson(textOf('abandoned')));
  expect(view.status).toBe('cancelled');
  expect(view.calls[0]?.result?.error).toEqual({
    code: 'in_doubt',
    message: 'Unresolved: ann ended the turn with this call in doubt. We moved.',
  });
});

test('ended-approved-twice: a decision by signal and again by update is one decision', async () => {
  const events = await turnEventsOfJson(textOf('ended-approved-twice'));
  const decisions = events.flatMap((event) => (event.type === 'decision' ? [event] : []));
  expect(decisions).toMatchObject([{ callId: '1.2', approver: 'cy', judgement: { accepted: true } }]);
});

test('reset: what the operator took back is gone from the view', async () => {
  const events = await turnEventsOfJson(textOf('reset'));
  expect(events.map((event) => event.type)).toContain('reset');
  const view = viewOf(events);
  expect(view.runId).toBe(events.flatMap((event) => (event.type === 'reset' ? [event.newRunId] : []))[0]);
  expect(view.steps).toHaveLength(2);
});

test('continued: the last run of a chain tells the prompt of the first', async () => {
  const [started] = await turnEventsOfJson(textOf('continued'));
  expect(started).toMatchObject({
    type: 'turn_started',
    prompt: 'go on',
    continuedFrom: expect.any(String),
  });
});

test("what Temporal's own reset applied again is shown, by either door, with the reset that did it", async () => {
  const events = await turnEventsOfJson(textOf('reapplied'));
  const reset = events.find((event) => event.type === 'reset');
  const again = events.filter((event) => event.type === 'decision' && event.reapplied !== undefined);
  expect(again).toMatchObject([
    { callId: '1.1', approver: 'ann', door: 'update', judgement: { accepted: true } },
    { callId: '1.2', approver: 'bob', door: 'signal', judgement: { accepted: true } },
  ]);
  for (const event of again)
    expect(event).toMatchObject({
      reapplied: { eventId: reset?.eventId, at: reset?.at, reason: reset?.reason },
    });
  expect(events.filter((event) => event.type === 'decision' && event.reapplied === undefined)).not.toEqual(
    [],
  );
});
