import { aiSdk, UI_INPUT } from '../../../src/server/own-page/ai-sdk';
import { ANN, eventsOf, HISTORIES, threadAt } from './recorded-threads';

const input = (messages: object[] = []) => UI_INPUT.parse({ id: 's', messages });
const typesOf = (chunks: object[]): unknown[] => chunks.map((chunk) => ('type' in chunk ? chunk.type : ''));
const deltasIn = (chunks: object[]): unknown[] =>
  chunks.flatMap((one) => ('delta' in one ? [one.delta] : []));

test.each(HISTORIES)(
  '%s: each text and each outcome comes once, however often it is written',
  async (name) => {
    const events = await eventsOf(name);
    if (events.some(({ type }) => type === 'reset')) return;
    const writer = aiSdk(input()).writer(ANN);
    const chunks = events.flatMap((_, at) => writer.write(threadAt(events, at + 1)));
    const last = threadAt(events, events.length);
    const [view] = last.turns.values();
    const texts = view?.steps.map(({ text }) => text).filter((text) => text !== '');
    expect(deltasIn(chunks)).toEqual(texts);
    const outcomes = chunks.filter((one) => 'type' in one && /^tool-output/.test(String(one.type)));
    expect(outcomes).toHaveLength(view?.calls.filter(({ result }) => result !== undefined).length ?? 0);
  },
);

test('the message that a client continues begins anew with its last step', async () => {
  const events = await eventsOf('approved');
  const thread = threadAt(events, events.length);
  const [turn = ''] = thread.turns.keys();
  const step = { type: 'data-countersign-step', id: `${turn}/1`, data: {} };
  const tool = { type: 'dynamic-tool', toolCallId: `${turn}/1.1`, state: 'approval-responded' };
  const user = { id: 'words', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const messages = [user, { id: 'm', role: 'assistant', parts: [{ type: 'step-start' }, step, tool] }];
  const chunks = aiSdk(input(messages)).writer(ANN).write(thread);
  expect(chunks[0]).toEqual({ type: 'start', messageId: 'm' });
  expect(typesOf(chunks).slice(1, 4)).toEqual(['reset-step', step.type, 'tool-input-available']);
});

test.each([
  ['only its beginning', []],
  [
    'a text without an end',
    [
      { type: 'data-countersign-step', id: 'TURN/1' },
      { type: 'text', text: 'I w' },
    ],
  ],
])('a step of which %s came is written anew in its place', async (_what, parts) => {
  const events = await eventsOf('approved');
  const thread = threadAt(events, events.length);
  const [turn = ''] = thread.turns.keys();
  const came = JSON.parse(JSON.stringify(parts).replace('TURN', turn));
  const user = { id: 'words', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const messages = [user, { id: turn, role: 'assistant', parts: [{ type: 'step-start' }, ...came] }];
  const chunks = aiSdk(input(messages)).writer(ANN).write(thread);
  expect(typesOf(chunks).slice(0, 2)).toEqual(['start', 'reset-step']);
  expect(typesOf(chunks).filter((type) => type === 'start-step')).toHaveLength(1);
});

test('a turn that waits and is known is not written again for words that wait behind it', async () => {
  const events = await eventsOf('approved');
  const at = events.findIndex(({ type }) => type === 'request_opened') + 1;
  const thread = threadAt(events, at);
  const [turn = ''] = thread.turns.keys();
  const step = { type: 'data-countersign-step', id: `${turn}/1`, data: {} };
  const tool = { type: 'dynamic-tool', toolCallId: `${turn}/1.1`, state: 'approval-requested' };
  const messages = [
    { id: 'm', role: 'assistant', parts: [{ type: 'step-start' }, step, tool] },
    { id: 'later', role: 'user', parts: [{ type: 'text', text: 'and then?' }] },
  ];
  const asked = aiSdk(input(messages));
  expect(asked.words).toEqual([{ messageId: 'later', text: 'and then?' }]);
  expect(asked.writer(ANN).write(thread)).toEqual([]);
});

test.each([
  [true, 'approved'],
  [false, 'denied'],
])('an answer of %s is %s, for what its id says was shown', (approved, decision) => {
  const approval = { id: 't/1.1#shown#digest', approved, reason: 'so' };
  const part = { type: 'dynamic-tool', toolCallId: 't/1.1', state: 'approval-responded', approval };
  const { answers } = aiSdk(input([{ id: 'm', role: 'assistant', parts: [part] }]));
  expect(answers).toEqual([{ id: 't/1.1#shown', said: { decision, seenDigest: 'digest', reason: 'so' } }]);
});

test('an answer in a message that is not continued was sent before', () => {
  const approval = { id: 't/1.1#shown#digest', approved: true };
  const part = { type: 'dynamic-tool', toolCallId: 't/1.1', state: 'approval-responded', approval };
  const words = { id: 'w', role: 'user', parts: [{ type: 'text', text: 'hi' }] };
  expect(aiSdk(input([{ id: 'm', role: 'assistant', parts: [part] }, words])).answers).toEqual([]);
});

test.each([
  ['an outcome that a client invented', { state: 'output-available', output: 'paid' }],
  ['an approval that nobody gave', { state: 'approval-requested' }],
])('%s does not count as an answer', (_what, more) => {
  const part = {
    type: 'dynamic-tool',
    toolCallId: 't/1.1',
    approval: { id: 't/1.1#d', approved: true },
    ...more,
  };
  expect(aiSdk(input([{ id: 'm', role: 'assistant', parts: [part] }])).answers).toEqual([]);
});
