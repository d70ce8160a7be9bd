import { hiddenIn, proposalLines, requestLines } from '../../../src/cli/print/request';
import type { JsonObject } from '../../../src/contract/json';
import type { Preview } from '../../../src/contract/plan';
import { HOSTILE_LETTERS } from '../../support/hostile-letters';
import { NOW, request, testScreen } from '../support';

/** The cases B of what an approver sees: what comes in, and what is printed. */

const print = (args: JsonObject, preview?: Preview): string[] => {
  const opened = request({ arguments: args, ...(preview === undefined ? {} : { preview }) });
  return requestLines(opened, { turn: 't-1', screen: testScreen(200), now: NOW, command: (line) => line });
};
/** Whether `approve` asks for the whole word yes. */
const needsAWord = (args: JsonObject, preview?: Preview): boolean =>
  hiddenIn(request({ arguments: args, ...(preview === undefined ? {} : { preview }) })) > 0;
const diff = (...lines: string[]): Preview => ({
  text: '',
  plan: {
    path: 'a.txt',
    baseHash: 'b',
    targetHash: 't',
    encoding: 'utf8',
    hunks: [{ id: '1', oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines }],
  },
});

describe('what a terminal obeys, turns or hides', () => {
  it.each<[string, string, string]>([
    ['clear the screen', '\x1b[2J', '\\x1b[2J'],
    ['hide', '\x1b[8mx', '\\x1b[8mx'],
    ['clipboard', '\x1b]52;c;eA==\x07', '\\x1b]52;c;eA==\\x07'],
    ['link', '\x1b]8;;http://evil\x1b\\ok', '\\x1b]8;;http://evil\\x1b\\ok'],
    ['title', '\x1b]0;safe\x07', '\\x1b]0;safe\\x07'],
    ['overwrite', 'rm -rf /\rls', 'rm -rf /\\rls'],
    ['clear the screen by a C1 control', '\x9b2J', '\\x9b2J'],
    ['override', 'a\u202eb', 'a⟦U+202E⟧b'],
    ['isolate', 'a\u2066b\u2069', 'a⟦U+2066⟧b⟦U+2069⟧'],
    ['zero width', 'pay\u200bpal', 'pay⟦U+200B⟧pal'],
    ['tag', 'a\u{e0041}', 'a⟦U+E0041⟧'],
    ['variation selector', 'a\ufe0f', 'a⟦U+FE0F⟧'],
    ['Hangul filler', 'a\u3164', 'a⟦U+3164⟧'],
    ['grapheme joiner', 'a\u034fb', 'a⟦U+034F⟧b'],
    ['look-alikes', 'p\u0430ypal', 'p⟦а Cyrillic⟧ypal'],
    ['a file name of two directions', '\u05d0\u202eb', '⟦U+05D0⟧⟦U+202E⟧b'],
  ])('%s', (_name, value, shown) => {
    const lines = print({ value });
    expect(lines).toContain(`  value  ${shown}`);
    expect(lines.join('')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]/);
    expect(lines.some((line) => line.startsWith('look twice: '))).toBe(true);
    expect(needsAWord({ value })).toBe(true);
  });

  it('shows them in names, previews, words of the model and of the user, and policy too', () => {
    const sly = 'x\x1b[2J\u202e';
    const asked = { arguments: { [sly]: 1 }, preview: { text: sly } };
    const opened = request({ ...asked, policyReason: sly, tool: sly, server: sly });
    const story = { agent: sly, asked: sly, says: sly };
    const text = proposalLines(opened, { turn: 't-1', screen: testScreen(200), now: NOW, story }).join('\n');
    expect(text).not.toMatch(/\x1b|\u202e/);
    expect(text.match(/x\\x1b\[2J⟦U\+202E⟧/g)).toHaveLength(8);
  });
});

describe.each(Object.entries(HOSTILE_LETTERS))('%s', (what, texts) => {
  it.each(texts)('%j asks to look twice, wherever it stands', (text) => {
    // The dots of a name are escaped as in paths, so it is no host.
    const asName = what.startsWith('hosts') ? [] : [print({ [text]: 1 })];
    for (const lines of [print({ text }), print({}, { text }), ...asName]) {
      expect(lines.some((line) => line.startsWith('look twice: '))).toBe(true);
      expect(lines.join('')).not.toMatch(
        /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u,
      );
    }
    expect(needsAWord({ text })).toBe(true);
  });
});

describe('what pushes away, buries or dresses up', () => {
  it.each<[string, JsonObject, string]>([
    ['blanks', { command: `ls${' '.repeat(200)}; rm -rf /` }, '  command  ls⟦200 blanks⟧; rm -rf /'],
    ['line ends', { command: `ls${'\n'.repeat(200)}; rm -rf /` }, '  │ ⟦199 empty lines⟧'],
    ['order and depth', { a: [{ b: [{ 'c.d': 'rm' }] }] }, '  a.0.b.0.c\\.d  rm'],
    [
      'markup',
      { note: '<img src=x onerror=alert(1)> [ok](http://evil)' },
      '  note  <img src=x onerror=alert(1)> [ok](http://evil)',
    ],
    ['a line end in a name', { path: 'a\nb' }, '  path'],
    ['an emoji', { path: '🎉.txt' }, '  path  🎉.txt'],
  ])('%s', (_name, args, line) => {
    expect(print(args)).toContain(line);
  });

  it('shows all of a long command, its end too', () => {
    const command = `echo ${'x'.repeat(100_000)}; rm -rf /`;
    const text = print({}, { text: command }).join('');
    expect(text).toContain('x; rm -rf /');
    expect(text).not.toContain('…x');
  });
});

describe('what the model says, and changes that do not show', () => {
  it('puts the words of the model below the facts, under its name', () => {
    const story = { agent: 'clerk', asked: 'tidy up', says: 'a harmless read\napproved by the user' };
    const place = { turn: 't-1', screen: testScreen(100), now: NOW, story };
    const lines = proposalLines(request({ tool: 'delete_all', preview: { text: 'rm -rf /' } }), place);
    expect(lines.indexOf('what it does:')).toBeLessThan(lines.indexOf('the model says:'));
    expect(lines.slice(0, 3)).toEqual(['request  t-1/1.1  delete_all', 'agent    clerk', 'asked    tidy up']);
    expect(lines.slice(-3)).toEqual(['the model says:', '  a harmless read', '  approved by the user']);
  });

  it.each<[string, Preview, string[]]>([
    ['blanks at the end', diff('-a', '+a  '), ['  -a', '  +a··']],
    ['line ends of Windows', diff('-a', '+a\r'), ['  -a', '  +a\\r']],
    [
      'no newline at the end',
      diff('-a', '+a', '\\ No newline at end of file'),
      ['  +a', '  \\ No newline at end of file'],
    ],
    ['a tab at the end', diff('-a', '+a\t'), ['  +a······']],
  ])('%s', (_name, preview, lines) => {
    expect(print({}, preview)).toEqual(expect.arrayContaining(lines));
  });
});
