import { diffOfSnapshots, expected, newTextOf, SCENE, withNewText } from '../../../src/cli/demo/scene';

const args = { path: SCENE.file, edits: [{ old_text: SCENE.from, new_text: 'New Ltd' }] };

it.each<[name: string, args: Parameters<typeof newTextOf>[0], text: string]>([
  ['the text of the first edit', args, 'New Ltd'],
  ['the usual text without edits', {}, SCENE.to],
  ['the usual text where an edit has none', { edits: [{}] }, SCENE.to],
])('a call proposes %s', (_name, given, text) => {
  expect(newTextOf(given)).toBe(text);
});

it('puts another text into a call', () => {
  expect(newTextOf(withNewText(args, 'Other Ltd'))).toBe('Other Ltd');
});

const before = new Map([
  [SCENE.file, `${SCENE.from} pays ${SCENE.from}`],
  ['other.txt', SCENE.from],
]);

it.each<[name: string, text: string | undefined, readme: string]>([
  ['an approval changes every place of the one file', 'New Ltd', 'New Ltd pays New Ltd'],
  ['a denial changes nothing', undefined, `${SCENE.from} pays ${SCENE.from}`],
])('%s', (_name, text, readme) => {
  expect(Object.fromEntries(expected(before, text))).toEqual({
    [SCENE.file]: readme,
    'other.txt': SCENE.from,
  });
});

it.each<[name: string, after: [string, string][], line: RegExp | '']>([
  ['nothing', [...before], ''],
  ['a changed file', [...before, ['other.txt', 'x']], /^\+x$/m],
  ['a new file', [...before, ['new.txt', 'x']], /^--- \/dev\/null$/m],
  ['a file that is gone', [[SCENE.file, before.get(SCENE.file) ?? '']], /^\+\+\+ \/dev\/null$/m],
])('shows %s between two looks', (_name, after, line) => {
  const changes = diffOfSnapshots(before, new Map(after));
  if (line === '') expect(changes).toBe('');
  else expect(changes).toMatch(line);
});
