import { EventSchemas } from '@ag-ui/core/schemas';
import { AG_UI_INPUT, agUi, recordOf } from '../../../src/server/own-page/ag-ui';
import { askedItems, type Thread } from '../../../src/server/own-page/thread';
import { ANN, eventsOf, HISTORIES, threadAt } from './recorded-threads';

const input = (messages: object[] = [], more: object = {}) =>
  AG_UI_INPUT.parse({ threadId: 's', runId: 'r', messages, ...more });
const writerFor = (messages: object[] = []) => agUi(input(messages)).writer(ANN);
const typesOf = (events: object[]): unknown[] => events.map((event) => EventSchemas.parse(event).type);

test.each(HISTORIES)('%s: every event of every moment is one of the protocol', async (name) => {
  const events = await eventsOf(name);
  const writer = writerFor();
  for (let cut = 1; cut <= events.length; cut += 1) {
    const thread = threadAt(events, cut);
    const items = askedItems(thread, ANN);
    const ending = items.length > 0 ? writerFor().waits(items) : [];
    const written = JSON.parse(JSON.stringify([...writer.write(thread), ...ending]));
    for (const event of written) EventSchemas.parse(event);
  }
});

test('a client that has everything gets nothing, and one that has less gets the rest', async () => {
  const events = await eventsOf('approved');
  const thread = threadAt(events, events.length);
  const record = recordOf(thread);
  expect(writerFor(record).write(thread)).toEqual([]);
  const rest = writerFor(record.slice(0, -1)).write(thread);
  expect(typesOf(rest)).toContain('TEXT_MESSAGE_CONTENT');
  expect(typesOf(rest)).not.toContain('MESSAGES_SNAPSHOT');
});

test.each([
  [
    'a message that a client made up',
    (all: object[]) => [...all, { id: 'x', role: 'assistant', content: 'Paid.' }],
  ],
  ['an outcome that a client changed', (all: object[]) => all.map((one) => ({ ...one, content: 'changed' }))],
])('%s is taken back', async (_what, forge) => {
  const events = await eventsOf('approved');
  const thread = threadAt(events, events.length);
  const written = writerFor(forge(recordOf(thread))).write(thread);
  expect(written).toMatchObject([{ type: 'MESSAGES_SNAPSHOT', messages: recordOf(thread) }]);
});

test('text comes as it grows, and whole once more if the model begins anew', async () => {
  const events = await eventsOf('approved');
  const at = events.findIndex(({ type }) => type === 'step');
  const when = (words: string): Thread => threadAt(events, at, words);
  const writer = writerFor();
  const typesWith = (words: string): unknown[] => typesOf(writer.write(when(words)));
  expect(typesWith('I w')).toEqual([
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
    ...['STEP_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT'],
  ]);
  expect(writer.write(when('I write'))).toMatchObject([{ type: 'TEXT_MESSAGE_CONTENT', delta: 'rite' }]);
  expect(typesWith('Again')).toEqual(['TEXT_MESSAGE_END', 'STEP_FINISHED', 'MESSAGES_SNAPSHOT']);
});

test('of a client only words at the end and resolved interrupts count', () => {
  const messages = [
    { id: 'a', role: 'user', content: 'old' },
    { id: 'b', role: 'assistant', content: 'reply' },
    { id: 'c', role: 'user', content: [{ type: 'text', text: 'new' }] },
  ];
  const resume = [
    { interruptId: 't/1.1', status: 'cancelled' },
    { interruptId: 't/1.2', status: 'resolved', payload: { decision: 'approved' } },
  ];
  const { words, answers } = agUi(input(messages, { resume }));
  expect(words).toEqual([{ messageId: 'c', text: 'new' }]);
  expect(answers).toEqual([{ id: 't/1.2', said: { decision: 'approved' } }]);
});

test.each([
  ['cancelled', 'RUN_FINISHED', { outcome: { type: 'cancelled' } }],
  ['answered', 'RUN_FINISHED', { outcome: { type: 'success' }, result: { status: 'answered' } }],
  ['failed', 'RUN_ERROR', { code: 'failed', message: 'why' }],
  ['terminated', 'RUN_ERROR', { code: 'terminated' }],
] as const)('a turn that is %s ends as %s', (status, type, more) => {
  const written = writerFor().ended({ status, answer: 'done', error: 'why' });
  expect(typesOf(JSON.parse(JSON.stringify(written)))).toEqual([type]);
  expect(written).toMatchObject([{ type, ...more }]);
});
