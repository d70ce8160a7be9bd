import { sendAnswers } from '../../../src/server/own-page/answers';
import { askedItems, runningTurn } from '../../../src/server/own-page/thread';
import { ANN, eventsOf, threadAt } from './recorded-threads';

test('the same no counts once, and anew for a request that was opened again', async () => {
  const events = await eventsOf('approved');
  const at = events.findIndex(({ type }) => type === 'request_opened');
  let thread = threadAt(events, at + 1);
  const sent: unknown[] = [];
  const [seenDigest] = events.flatMap((event) => (event.type === 'request_opened' ? event.seenDigest : []));
  const turn = runningTurn(thread);
  const reader = {
    view: () => Promise.resolve(thread.turns.get(turn)),
    decide: (_turn: string, { decisionId }: { decisionId: string }) => {
      sent.push(decisionId);
      return Promise.resolve({ status: 'accepted' });
    },
  };
  const c = Object.assign(Object.create(null), {
    get: (name: string) => (name === 'who' ? { user: 'ann' } : reader),
  });
  const nothing = () => undefined;
  const deps = Object.assign(Object.create(null), {
    ...{ client: {}, feed: { refresh: nothing }, decided: { note: nothing }, shown: { of: nothing } },
  });
  const say = async (id = '') => {
    const about = { runId: 'm', channel: 'ai-sdk', turns: [{ turn }], inbox: '' };
    const answers = [{ id, said: { decision: 'denied', seenDigest } }];
    return (await sendAnswers(deps, c, { ...about, answers })).map(({ status }) => status);
  };
  const [{ id: first } = { id: '' }] = askedItems(thread, ANN);
  expect([await say(first), await say(first)]).toEqual([['accepted'], ['accepted']]);
  const again = events.map((event) => (event.type === 'request_opened' ? { ...event, eventId: 99 } : event));
  thread = threadAt(again, at + 1);
  expect(await say(first)).toEqual(['not_open']);
  expect(await say(askedItems(thread, ANN)[0]?.id)).toEqual(['accepted']);
  expect(sent[0]).toBe(sent[1]);
  expect(new Set(sent).size).toBe(2);
});
