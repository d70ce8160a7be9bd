import { toClauses, toPhrase, toWords } from '../../../src/models/offline/words';

const textsOf = (source: string): string[] => toWords(source).map(({ text }) => text);
const clausesOf = (source: string): string[][] =>
  toClauses(source).map(({ words }) => words.map(({ text }) => text));
const phraseOf = (source: string) => toPhrase(toClauses(source)[0] ?? { source: '', words: [] });

describe('words', () => {
  it.each<[string, string, string[]]>([
    ['nothing', '', []],
    ['blanks alone', ' \t ', []],
    ['words', 'read  the file', ['read', 'the', 'file']],
    ['a line break, which is a word', 'a\nb', ['a', '\n', 'b']],
    ['quotes, which hold blanks', "in 'my file.txt'", ['in', 'my file.txt']],
    ['curly quotes', 'in “my file”.', ['in', 'my file', '.']],
    ['an apostrophe, which is a letter', "don't stop", ["don't", 'stop']],
    ['a quote that never closes', "say 'hello there", ['say', "'hello", 'there']],
    ['quotes with nothing in them', "''", ['']],
  ])('%s', (_case, source, words) => {
    expect(textsOf(source)).toEqual(words);
  });

  it('know where they lie, quotes included, and which quotes were double', () => {
    expect(toWords('a "b"')).toEqual([
      { text: 'a', quoted: false, start: 0, end: 1 },
      { text: 'b', quoted: true, isDouble: true, start: 2, end: 5 },
    ]);
  });

  it('are cut from a request of nothing but opening quotes in time', () => {
    expect(toWords('“'.repeat(200_000)).length).toBe(1);
  });
});

describe('clauses', () => {
  it.each<[string, string, string[][]]>([
    ['nothing', '', []],
    ['fillers alone', 'please and then', []],
    [
      'one request, without its fillers and its full stop',
      'Please, could you read a.txt.',
      [['read', 'a.txt']],
    ],
    [
      'two, with a then',
      'read a.txt and then delete b.txt',
      [
        ['read', 'a.txt'],
        ['delete', 'b.txt'],
      ],
    ],
    [
      'two on lines of a list',
      '- read a.txt;\n2. delete b.txt',
      [
        ['read', 'a.txt'],
        ['delete', 'b.txt'],
      ],
    ],
    ['a quoted then, which is text', "write 'then' to a.txt", [['write', 'then', 'to', 'a.txt']]],
    ['a dot that is a path', 'list .', [['list', '.']]],
    ['a dot after a quote, which ends the sentence', "write 'x'.", [['write', 'x']]],
  ])('%s', (_case, source, clauses) => {
    expect(clausesOf(source)).toEqual(clauses);
  });
});

describe('a phrase', () => {
  it('answers by keyword, without case and punctuation, and not for quoted words', () => {
    const phrase = phraseOf("Replace 'replace' WITH, b");
    expect([0, 1, 3, 9].map((index) => phrase.keyword(index))).toEqual([
      'replace',
      undefined,
      'b',
      undefined,
    ]);
    expect([phrase.find('with'), phrase.find('replace'), phrase.find('none')]).toEqual([2, 0, -1]);
    expect(phraseOf('in a in b').findLast('in')).toBe(2);
    expect(phraseOf('the the a').without('the').length).toBe(1);
    expect(phraseOf('the the').without('the').length).toBe(0);
  });

  it.each<[string, string, string | undefined]>([
    ['words, as they were written', 'hello   dear world', 'hello   dear world'],
    ['one quoted word, without its quotes', "'hello  world'", 'hello  world'],
    ['a mixture of both', "hello 'world'", undefined],
    ['nothing', '', undefined],
  ])('has as text: %s', (_case, source, text) => {
    expect(phraseOf(source).text()).toBe(text);
  });

  it.each<[string, string, string[] | undefined]>([
    ['one', 'a.txt', ['a.txt']],
    ['a list with commas and an and', 'a.txt, b.txt and c.txt', ['a.txt', 'b.txt', 'c.txt']],
    ['the same twice', 'a.txt and a.txt', ['a.txt']],
    ['a quoted one with a blank', "'my a.txt' and b", ['my a.txt', 'b']],
    ['two in a row, which are not a list', 'a.txt b.txt', undefined],
    ['an empty quote', "''", undefined],
  ])('has as paths: %s', (_case, source, paths) => {
    expect(phraseOf(source).paths()).toEqual(paths);
    expect(phraseOf(source).path()).toBe(
      paths?.length === 1 && !source.includes(' and ') ? paths[0] : undefined,
    );
  });
});
