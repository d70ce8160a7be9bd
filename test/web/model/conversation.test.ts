import { LIMITS } from '../../../src/contract/limits';
import type { SessionEvent } from '../../../src/history/session/events';
import {
  compactedText,
  describeConversation,
  exchangesOf,
  keptTurns,
  textProblem,
  whatCompacts,
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

const head = { eventId: 1, at };
const started = (earlier: number): SessionEvent => ({
  ...{ type: 'session_started', ...head, session: 's', runId: 'r', agent: 'a', taskQueue: 'q', waiting: [] },
  earlier: Array.from({ length: earlier }, (_, n) => ({ ...turn(`s.t${n}`, 'm'), took: [] })),
});
const began: SessionEvent = { type: 'turn_started', ...head, turn: 's.t9', messageId: 'm', prompt: 'p' };
const ended = (status: 'answered' | 'not_started'): SessionEvent => ({
  ...{ type: 'turn_ended', ...head, turn: 's.t9', status, took: [] },
});
const done = [began, ended('answered')];
const compacted = (turns: number): SessionEvent => ({
  ...{ type: 'compacted', ...head, turns, text: 'what was said', model: 'm' },
});

it.each<[string, SessionEvent[], number]>([
  ['none at first', [started(0)], 0],
  ['one that runs', [started(0), began], 1],
  ['one that ended', [started(0), began, ended('answered')], 1],
  ['none that did not start', [started(0), began, ended('not_started')], 0],
  ['those that no summary stands for', [started(0), ...done, ...done, began, compacted(2)], 1],
  ['those of earlier runs, as the last run was given them', [began, compacted(1), started(2), began], 3],
])('the model reads word by word: %s', (_, events, kept) => expect(keptTurns(events)).toBe(kept));

it.each<[number, boolean, boolean, RegExp]>([
  [0, false, false, /^There is nothing to compact/],
  [1, true, false, /^There is nothing to compact/],
  [2, false, true, /^A model summarizes/],
  [2, true, true, /^Once this turn has ended/],
])('with %d turns, one running: %j, compacting is needed: %j', (kept, isRunning, isNeeded, text) =>
  expect(whatCompacts(kept, isRunning)).toEqual({ isNeeded, text: expect.stringMatching(text) }),
);

it('says how a summary went', () => {
  const failed = { type: 'compaction_failed', ...head, turns: 2, error: 'no model' } as const;
  const done = { type: 'compacted', ...head, turns: 2, text: 'what was said', model: 'm' } as const;
  expect(compactedText(failed)).toBe('Nothing was compacted: no model');
  expect(compactedText(done)).toBe('2 turns compacted by m. The summary is on top.');
});

it.each([
  ['', 'Write something first.'],
  [' \n\t', 'Write something first.'],
  ['a', undefined],
  ['x'.repeat(LIMITS.sessionTextBytes - 2), undefined],
  ['x'.repeat(1024 * 1024), 'This is over 1 MiB. Put it into a file that the agent can read.'],
  ['\u0000'.repeat(180_000), 'This is over 1 MiB. Put it into a file that the agent can read.'],
])('a text is sent or refused in words (case %#)', (text, problem) =>
  expect(textProblem(text)).toBe(problem),
);
