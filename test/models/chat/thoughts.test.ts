import { ShownText, splitThoughts } from '../../../src/models/chat/thoughts';

const CASES: [string, string, string, string[]][] = [
  ['a thought before the answer', '<think>hm</think>\n{"total":1}', '{"total":1}', ['hm']],
  ['an empty thought', '<think>\n\n</think>\n\nhi', 'hi', []],
  ['a thought that only closes', 'hm\nso\n</think>\n\nhi', 'hi', ['hm\nso']],
  ['a thought that never closes', '<think>hm', '', ['hm']],
  ['a thought after words', 'Let me see.\n<think>hm</think>\nDone.', 'Let me see.\nDone.', ['hm']],
  ['two thoughts', '<think>a</think>\n<think>b</think>hi', 'hi', ['a', 'b']],
  ['capitals', '<Thinking>hm</Thinking> hi', 'hi', ['hm']],
  ['an attribute', '<think time="3">hm</think>hi', 'hi', ['hm']],
  ['the tag of Seed', '<seed:think>hm</seed:think>hi', 'hi', ['hm']],
  ['the tag of Magistral', '[THINK]hm[/THINK]hi', 'hi', ['hm']],
  ['the tag of Kimi', '◁think▷hm◁/think▷hi', 'hi', ['hm']],
  ['the tag of OpenThinker', '<|begin_of_thought|>hm<|end_of_thought|>hi', 'hi', ['hm']],
  ['the tag of Command', '<|START_THINKING|>hm<|END_THINKING|>hi', 'hi', ['hm']],
  [
    'channels',
    '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>hi',
    'hi',
    ['hm<|end|><|start|>assistant'],
  ],
  ['a text about tags', 'Write `<think>` and `</think>`.', 'Write `<think>` and `</think>`.', []],
  ['a block of code', 'So:\n```\n<think>\n</think>\n```\n', 'So:\n```\n<think>\n</think>\n```\n', []],
  ['another tag', '<thinker>hm</thinker>', '<thinker>hm</thinker>', []],
];

it.each(CASES)('takes out: %s', (_, whole, text, thoughts) => {
  expect(splitThoughts(whole)).toMatchObject({ text, thoughts });
});

it.each(CASES.filter(([name]) => !name.includes('only closes')))(
  'shows no thought while it comes: %s',
  (_, whole, text) => {
    for (const size of [1, 3, 1000]) {
      const shown = new ShownText();
      let all = '';
      for (let at = 0; at < whole.length; at += size) all += shown.add(whole.slice(at, at + size));
      expect(all + shown.end()).toBe(text);
    }
  },
);
