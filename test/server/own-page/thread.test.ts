import {
  askedId,
  threadEnd,
  isIdle,
  askedItems,
  runningTurn,
  stepsOf,
  whyNotHere,
} from '../../../src/server/own-page/thread';
import { waitingEvent } from '../../../src/history/view-types';
import type { RequestOpened } from '../../../src/history/events';
import { ANN, eventsOf, HISTORIES, threadAt } from './recorded-threads';

test.each(HISTORIES)('%s: who waits for people is idle, and who has ended has an end', async (name) => {
  const events = await eventsOf(name);
  const whole = threadAt(events, events.length);
  const [view] = whole.turns.values();
  expect(threadEnd(whole) === undefined).toBe(view?.endedAt === null);
  const opened = events.findIndex(({ type }) => type === 'request_opened') + 1;
  if (opened === 0) return;
  const waits = threadAt(events, opened);
  const [asked] = askedItems(waits, ANN);
  expect(asked).toMatchObject({ kind: 'request_opened', about: { mayDecide: true } });
  expect(asked?.id.startsWith(`${runningTurn(waits)}/`)).toBe(true);
});

test('a turn that runs a call or asks its model is not idle', async () => {
  const events = await eventsOf('edited');
  const idleAfter = (type: string): boolean => {
    const thread = threadAt(events, events.findIndex((event) => event.type === type) + 1);
    return isIdle(thread, runningTurn(thread));
  };
  expect(['thinking', 'request_opened', 'call_started'].map(idleAfter)).toEqual([false, true, false]);
});

test('words of a model count only while the record says that it is asked', async () => {
  const events = await eventsOf('approved');
  const partialAt = (cut: number): boolean => {
    const thread = threadAt(events, cut, 'I w');
    return stepsOf(thread, runningTurn(thread)).some(({ isPartial }) => isPartial === true);
  };
  const asked = events.flatMap(({ type }, at) => (type === 'thinking' ? at + 1 : []));
  expect(asked.length).toBeGreaterThan(1);
  expect(events.map((_, at) => at + 1).filter(partialAt)).toEqual(asked);
});

const requestOf = async (): Promise<RequestOpened> => {
  const found = (await eventsOf('approved')).find((event) => event.type === 'request_opened');
  if (found === undefined) throw new Error('it has a request');
  return found;
};

test('what a person is asked is named after the start, the call and the person', async () => {
  const events = await eventsOf('in-doubt');
  const at = events.findIndex(({ type }) => type === 'in_doubt') + 1;
  const thread = threadAt(events, at);
  const [call] = stepsOf(thread, runningTurn(thread)).flatMap(({ calls }) => calls);
  const open = call && waitingEvent(call);
  if (call === undefined || open === undefined) throw new Error('it is in doubt');
  const ids = [
    askedId(call, open, 'ann'),
    askedId(call, open, 'bea'),
    askedId({ ...call, generation: 1 }, open, 'ann'),
    askedId(call, { ...open, callKey: 'another' }, 'ann'),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test('a request that is asked anew has another name, for whom it is asked anew', async () => {
  const events = await eventsOf('approved');
  const opened = events.findIndex(({ type }) => type === 'request_opened') + 1;
  const thread = threadAt(events, opened);
  const calls = stepsOf(thread, runningTurn(thread)).flatMap((step) => step.calls);
  const call = calls.find(({ request }) => request !== undefined);
  const { request } = call ?? {};
  const made = events.find((event) => event.type === 'decision');
  if (call === undefined || request === undefined || made === undefined) throw new Error('it has a request');
  const nameWith = (more: object, decision: object = {}) =>
    askedId({ ...call, decisions: [{ ...made, ...decision }] }, { ...request, ...more }, 'ann');
  const name = nameWith({});
  const taken = { decision: 'withdrawn', approver: 'ann', judgement: { accepted: true } };
  expect(nameWith({}, { ...taken, approver: 'bea' })).toBe(name);
  expect(nameWith({}, { ...taken, judgement: { accepted: false, code: 'expired' } })).toBe(name);
  const anew = [nameWith({ eventId: 99 }), nameWith({}, taken), nameWith({}, { ...taken, eventId: 99 })];
  expect(new Set([name, ...anew]).size).toBe(4);
});

test('a text that deceives the eye is for the web inbox, another is not', async () => {
  const request = await requestOf();
  expect(whyNotHere(request)).toBeUndefined();
  expect(whyNotHere({ ...request, arguments: { tag: 'a\u202eb' } })).toContain('deceives the eye');
});

test('the form of a decision has the arguments of the tool, with references that still lead somewhere', async () => {
  const events = await eventsOf('approved');
  const at = events.findIndex(({ type }) => type === 'request_opened');
  const schema = {
    type: 'object',
    properties: { to: { $ref: '#/$defs/to' } },
    $defs: { to: { type: 'string' } },
  };
  const changed = events.map((event) => (event.type === 'request_opened' ? { ...event, schema } : event));
  const [asked] = askedItems(threadAt(changed, at + 1), ANN);
  expect(asked?.schema).toMatchObject({
    $defs: { to: { type: 'string' } },
    properties: { arguments: { properties: { to: { $ref: '#/$defs/to' } } } },
    required: ['decision', 'seenDigest'],
  });
});
