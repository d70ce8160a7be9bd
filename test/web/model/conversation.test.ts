import {
  describeConversation,
  exchangesOf,
  readMessageDraft,
  textProblem,
} from '../../../src/web/model/conversation';

const at = '2026-01-01T00:00:00.000Z';
const message = (messageId: string) =>
  ({ messageId, text: `text of ${messageId}`, mode: 'queue', at }) as const;
const turn = (id: string, messageId: string, took: string[] = []) =>
  ({ turn: id, status: 'answered', messageId, took }) as const;

it('gives each turn what people said for it, in order', () => {
  const messages = ['a', 'b', 'c', 'waits'].map(message);
  const turns = [turn('s.t1', 'a', ['a', 'b']), turn('s.t2', 'c')].map(({ took, ...one }) => ({
    ...one,
    took: [...took],
  }));
  const said = exchangesOf({ turns, messages }).map((one) => [
    one.turn.turn,
    ...one.said.map(({ messageId }) => messageId),
  ]);
  expect(said).toEqual([
    ['s.t1', 'a', 'b'],
    ['s.t2', 'c'],
  ]);
});

it('shows what a turn was about where its message is gone', () => {
  const turns = [{ ...turn('s.t1', 'gone', ['gone too']), prompt: 'the words', took: ['gone too'] }];
  expect(exchangesOf({ turns, messages: [] })[0]?.said).toEqual([{ messageId: 'gone', text: 'the words' }]);
  const nothing = [{ ...turn('s.t1', 'gone'), took: [] }];
  expect(exchangesOf({ turns: nothing, messages: [] })[0]?.said).toEqual([]);
});

it.each([
  ['running', ['running', 'busy']],
  ['paused', ['paused', 'ask']],
  ['idle', ['idle', 'quiet']],
  ['terminated', ['terminated', 'bad']],
])('%s has words', (state, label) => expect(describeConversation(state)).toEqual(label));

it.each([
  ['', 'Write something first.'],
  [' \n\t', 'Write something first.'],
  ['a', undefined],
  ['x'.repeat(1024 * 1024 - 3_000), undefined],
  ['x'.repeat(1024 * 1024), 'This is over 1 MiB. Put it into a file that the agent can read.'],
  ['\u0000'.repeat(180_000), 'This is over 1 MiB. Put it into a file that the agent can read.'],
])('a text is sent or refused in words (case %#)', (text, problem) =>
  expect(textProblem(text)).toBe(problem),
);

it.each([
  [
    { text: 'a', mode: 'steer', messageId: 'm' },
    { text: 'a', mode: 'steer', messageId: 'm' },
  ],
  [
    { text: 'a', mode: 'shout', messageId: '' },
    { text: 'a', mode: 'queue', messageId: '' },
  ],
  [{ text: 1, mode: 'queue', messageId: '' }, undefined],
  [{ text: 'a' }, undefined],
  ['a', undefined],
  [null, undefined],
])('%j is read back as %j', (kept, draft) => expect(readMessageDraft(kept)).toEqual(draft));
