import { EXAMPLES } from '../../../src/models/offline/plan';
import { firstStep, type Call } from './talk';

const create = (path: string, content: string): Call => ['create_file', { path, content }];
const write = (path: string, content: string): Call => ['write_file', { path, content }];
const read = (...paths: string[]): Call[] => paths.map((path) => ['read_file', { path }]);
const search = (query: string, path?: string): Call => [
  'search_files',
  { query, ...(path === undefined ? {} : { path }) },
];
const run = (...argv: string[]): Call => ['run_command', { argv }];

it.each<[string, Call[]]>([
  ['list files', [['list_directory', { path: '.' }]]],
  ['List the files in src.', [['list_directory', { path: 'src' }]]],
  ['please list all files in the folder "my docs"', [['list_directory', { path: 'my docs' }]]],
  ['ls src/', [['list_directory', { path: 'src/' }]]],
  ['ls .', [['list_directory', { path: '.' }]]],
  ['list ..', [['list_directory', { path: '..' }]]],
  ['show files', [['list_directory', { path: '.' }]]],
  ['show tree', [['directory_tree', { path: '.' }]]],
  ['show me the directory tree of src', [['directory_tree', { path: 'src' }]]],
  ['tree', [['directory_tree', { path: '.' }]]],
  ['read README.md', read('README.md')],
  ['Read the file README.md!', read('README.md')],
  ['show me the contents of src/a.ts', read('src/a.ts')],
  ['cat a.txt, b.txt and c.txt', read('a.txt', 'b.txt', 'c.txt')],
  ["read 'my file.txt'", read('my file.txt')],
  ['read it’s.txt', read('it’s.txt')],
  ['info about README.md', [['get_file_info', { path: 'README.md' }]]],
  ['search for colour', [search('colour')]],
  ["search for 'colour in grey' in src", [search('colour in grey', 'src')]],
  ['search in src for two words', [search('two words', 'src')]],
  ['find TODO in files', [search('TODO')]],
  ['grep "a (b" in the project', [search('a (b')]],
  ['search for go in and out in src', [search('go in and out', 'src')]],
  ['create notes.txt', [create('notes.txt', '')]],
  ["create a new file notes.txt with content 'hello world'", [create('notes.txt', 'hello world')]],
  ['create file notes.txt containing hello world', [create('notes.txt', 'hello world')]],
  ['create a.txt with the content "one\\ntwo\\t\\"x\\""', [create('a.txt', 'one\ntwo\t"x"')]],
  ["create a.txt with content 'one\\ntwo'", [create('a.txt', 'one\\ntwo')]],
  ["create a.txt with content 'one\ntwo then three'", [create('a.txt', 'one\ntwo then three')]],
  ["write 'hello' to a.txt", [write('a.txt', 'hello')]],
  ['write a.txt with content hello', [write('a.txt', 'hello')]],
  ["insert 'hi' at line 3 of a.txt", [['insert_at_line', { path: 'a.txt', line: 3, text: 'hi' }]]],
  ['delete a.txt', [['delete_file', { path: 'a.txt' }]]],
  [
    'remove the files a.txt and b.txt',
    [
      ['delete_file', { path: 'a.txt' }],
      ['delete_file', { path: 'b.txt' }],
    ],
  ],
  ['move a.txt to b/a.txt', [['move_file', { from: 'a.txt', to: 'b/a.txt' }]]],
  ['rename the file "a b" as c', [['move_file', { from: 'a b', to: 'c' }]]],
  ['mv a b', [['move_file', { from: 'a', to: 'b' }]]],
  ['What does the function `defun` do?', [['describe_symbol', { symbol: 'defun' }]]],
  ['what is my-package:rate', [['describe_symbol', { symbol: 'my-package:rate' }]]],
  ['describe the macro when.', [['describe_symbol', { symbol: 'when' }]]],
  ['evaluate `(+ 1 2)`', [['eval_form', { form: '(+ 1 2)' }]]],
  ['eval (list 1 2)', [['eval_form', { form: '(list 1 2)' }]]],
  ['run npm test', [run('npm', 'test')]],
  ['run `npm test -- --name "two words"`.', [run('npm', 'test', '--', '--name', 'two words')]],
  ["execute the command git commit -m 'then stop; now'", [run('git', 'commit', '-m', 'then stop; now')]],
  ["replace 'a' with 'b' in x.txt", read('x.txt')],
  ['replace foo with bar in x.txt, y.txt and z.txt', read('x.txt', 'y.txt', 'z.txt')],
  ['change foo to bar in the file x.txt', read('x.txt')],
  ["replace 'a' in x.txt with 'in b'", read('x.txt')],
  ["replace 'go in' with 'with in' in x.txt.", read('x.txt')],
  ["replace all occurrences of 'colour' by 'color'", [search('colour')]],
  ["replace 'colour' with 'color' in all files", [search('colour')]],
  ["replace 'colour' with '' everywhere", [search('colour')]],
  ['replace two words with three in every file under src', [search('two words', 'src')]],
  ["replace 'x' with 'y' in files in src/deep", [search('x', 'src/deep')]],
  ["replace 'x' with 'y' in src/", [search('x', 'src/')]],
  ['1. read a.txt', read('a.txt')],
  ['- read a.txt', read('a.txt')],
])('%s', async (words, calls) => {
  expect(await firstStep(words)).toEqual(calls);
});

it.each([
  '',
  '   \n\n ',
  'hello',
  'make it better',
  'read',
  'read a.txt b.txt',
  'delete everything that is old',
  'replace foo',
  'replace with bar',
  "replace '' with 'x' in a.txt",
  "replace 'a' and 'b' with 'c' in a.txt",
  'replace x with y in a.txt and run npm test',
  'change foo to go in there in the file x.txt',
  'replace a in x.txt with b in y.txt',
  'run npm test and delete a.txt',
  'run cat a | grep b',
  'run a && b',
  'run',
  'create',
  'create a.txt hello',
  'write a.txt',
  'insert x at line many of a.txt',
  'insert x at line 0 of a.txt',
  'move a.txt',
  'constructor x',
  '__proto__ x',
  'toString',
  'then then and then',
])('does nothing for %p, and says what it understands', async (words) => {
  expect(await firstStep(words)).toEqual([]);
});

it('does nothing where it understands only a part', async () => {
  expect(await firstStep('delete a.txt then make tea')).toEqual([]);
});

it('understands all of its examples', async () => {
  for (const example of EXAMPLES.flatMap((line) => line.split(/, (?=show|info|write)/))) {
    expect({ example, calls: (await firstStep(example)).length }).toEqual({ example, calls: 1 });
  }
});

describe('hostile words end soon', () => {
  const LONG = 200_000;
  it.each<[string, string]>([
    ['one long word', 'x'.repeat(LONG)],
    ['opening quotes', " '".repeat(LONG)],
    ['opening quotes that close once', `${" '".repeat(LONG)}x'`],
    ['words in quotes', "'a' ".repeat(LONG)],
    ['blanks', ' '.repeat(LONG)],
    ['line breaks', '\n'.repeat(LONG)],
    ['verbs', 'read '.repeat(LONG)],
    ['thens', 'then '.repeat(LONG)],
    ['many ins', `replace a with b ${'in '.repeat(LONG)}`],
    ['many withs', `replace ${'a with '.repeat(LONG)} b in c`],
    ['many tos', `move ${'a to '.repeat(LONG)}`],
    ['a regex bomb', `search for ${'(a+)+$'.repeat(LONG / 10)}`],
    ['marks', `read ${'.,;:!?'.repeat(LONG / 10)}`],
    ['brackets', '['.repeat(LONG)],
  ])('%s', async (_, words) => {
    // Quadratic time would take minutes, and the test would time out.
    expect(await firstStep(words)).toEqual(expect.any(Array));
  });
});
