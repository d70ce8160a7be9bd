import { Shown } from '../../../src/cli/chat/shown';
import type { TextDelta } from '../../../src/contract/streamed-text';
import { testScreen } from '../support';

type Piece = [at: number, text: string, step?: number];
type Act = Piece | { done: string };

/** What a person sees of these pieces and finished replies. */
function seen(...acts: Act[]): string[] {
  const screen = testScreen();
  const context = { screen, command: (args: string) => args, typed: (text: string) => text };
  const shown: Shown = Reflect.construct(Shown, [{}, context]);
  const base: Omit<TextDelta, 'at' | 'text'> = { type: 'text', runId: 'r', step: 1, attempt: 1 };
  for (const act of acts) {
    if ('done' in act) shown.text(act.done);
    else shown.piece({ ...base, at: act[0], text: act[1], step: act[2] ?? 1 });
  }
  return screen.printed;
}

const AGAIN = '… the model writes it again, from the beginning';
const OTHER = '… the finished reply is another one:';

test.each<[what: string, acts: Act[], lines: string[]]>([
  ['a reply that nobody streamed', [{ done: 'one\ntwo\n' }], ['', 'one', 'two', '']],
  [
    'nothing of a line that is not whole',
    [
      [0, 'on'],
      [2, 'e'],
    ],
    [],
  ],
  [
    'each line once it is whole, and the rest with the reply',
    [[0, 'one\ntw'], [6, 'o\nthr'], { done: 'one\ntwo\nthree' }],
    ['', 'one', 'two', 'three', ''],
  ],
  [
    'a text that grows from its beginning, as heartbeats bring it',
    [
      [0, 'one\n'],
      [0, 'one\ntwo\n'],
    ],
    ['', 'one', 'two'],
  ],
  [
    'the steps of a burst one after the other, each once, though the record has them later',
    [
      [0, 'I look'],
      [0, 'I look on', 2],
      [0, 'done\n', 3],
      { done: 'I look' },
      { done: 'I look on' },
      { done: 'done' },
    ],
    ['', 'I look', '', '', 'I look on', '', '', 'done', ''],
  ],
  [
    'what the record has of a step whose last words were missed',
    [[0, 'I lo'], [0, 'done', 2], { done: 'I look' }, { done: 'done' }],
    ['', 'I lo', '', '', 'I look', '', '', 'done', ''],
  ],
  [
    'an attempt that begins anew',
    [[0, 'one\n'], [0, 'other\n'], { done: 'other\n' }],
    ['', 'one', AGAIN, '', 'other', ''],
  ],
  ['a reply that is another one', [[0, 'one\n'], { done: 'two' }], ['', 'one', OTHER, '', 'two', '']],
  ['the same answer once', [{ done: 'one' }, { done: 'one' }], ['', 'one', '']],
  [
    'two replies, one after the other',
    [{ done: 'one' }, [0, 'two\n'], { done: 'two' }],
    ['', 'one', '', '', 'two', ''],
  ],
  ['escapes of a terminal as text', [[0, 'a\u001b[31mb\n']], ['', 'a\\x1b[31mb']],
])('shows %s', (_, acts, lines) => {
  expect(seen(...acts)).toEqual(lines);
});
