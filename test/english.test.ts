import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { root } from './support/build';

/** What a reader has to read twice, or what nobody says aloud. */
const REFUSED: readonly RegExp[] = [
  // "There is no file" is what one says; "it is no file" is not.
  /(?<!\bthere )\bis no (?!longer\b|more\b)/i,
  /\bwhat [a-z' ]{1,40} of it\b/i,
  /\bmend(s|ed|ing)?\b/i,
  /\bfor ever\b/i,
  /\btold\b/i,
];

/** Parts of the repository in which the words are not looked for yet. */
const LATER: readonly string[] = [];

const filesUnder = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.includes('node_modules'))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .sort();

const all = ['src', 'test', 'bench', 'scripts', 'examples', 'templates', 'docs', 'deploy'].flatMap(
  filesUnder,
);
const isCode = (name: string): boolean => /\.(tsx?|[cm]?js)$/.test(name);

interface Line {
  place: string;
  text: string;
}

/** Paragraphs of prose, each as one line: a phrase may be wrapped. */
const paragraphsOf = (name: string): Line[] =>
  read(name)
    .split(/\n\s*\n/)
    .map((text) => ({ place: name, text: text.replace(/\s+/g, ' ') }));

const read = (name: string): string => readFileSync(join(root, name), 'utf8');

/** Comments, strings, and the text of pages: not names. */
const wordsOf = (name: string): Line[] => {
  const file = parse(name);
  const found: Line[] = [];
  const add = (position: number, text: string): void => {
    const { line } = file.getLineAndCharacterOfPosition(position);
    found.push({ place: `${name}:${line + 1}`, text: text.replace(/\n\s*\*?/g, ' ') });
  };
  const visit = (node: ts.Node): void => {
    if (isText(node) && !isSpecifier(node)) add(node.getStart(file), node.text);
    for (const range of ts.getLeadingCommentRanges(file.text, node.pos) ?? [])
      add(range.pos, file.text.slice(range.pos, range.end));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...new Map(found.map((line) => [`${line.place} ${line.text}`, line])).values()];
};

const parse = (name: string): ts.SourceFile =>
  ts.createSourceFile(name, read(name), ts.ScriptTarget.Latest, true);

const isText = (node: ts.Node): node is ts.LiteralLikeNode =>
  ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node);

const isSpecifier = ({ parent }: ts.Node): boolean =>
  ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent);

/** What `describe`, `it` and their tables are called with first. */
const titlesOf = (name: string): Line[] => {
  const file = parse(name);
  const found: Line[] = [];
  const visit = (node: ts.Node): void => {
    const [title] = ts.isCallExpression(node) && isTestCall(node.expression) ? node.arguments : [];
    if (title !== undefined && ts.isStringLiteralLike(title)) found.push({ place: name, text: title.text });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
};

/** `it`, `it.each(…)`, `describe.skip` and their like. */
const isTestCall = (callee: ts.Expression): boolean =>
  ts.isIdentifier(callee)
    ? ['describe', 'it', 'test'].includes(callee.text)
    : (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) && isTestCall(callee.expression);

const offences = (lines: readonly Line[]): string[] =>
  lines
    .filter(({ text }) => REFUSED.some((pattern) => pattern.test(text)))
    .map(({ place, text }) => `${place}: ${text}`);

describe('the check itself', () => {
  it.each([
    'It is no file.',
    'say what came of it',
    'mend the file',
    'it waits for ever',
    'the model is told',
    'Is no list',
  ])('refuses: %s', (text) => {
    expect(offences([{ place: 'here', text }])).toEqual([`here: ${text}`]);
  });

  it.each([
    'there is no file',
    'it is no longer open',
    'we recommend it',
    'amend it',
    'what it does',
    'forever',
  ])('allows: %s', (text) => {
    expect(offences([{ place: 'here', text }])).toEqual([]);
  });
});

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...all.filter((name) => name.endsWith('.md'))];

it.each(['docs', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples', 'templates'])(
  'the pages of %s are in plain English',
  (part) => {
    expect(offences(pages.filter((name) => name.startsWith(part)).flatMap(paragraphsOf))).toEqual([]);
  },
);

it.each(['src', 'bench', 'scripts', 'examples', 'templates'].filter((part) => !LATER.includes(part)))(
  'comments and strings of %s are in plain English',
  (part) => {
    const files = all.filter((name) => name.startsWith(`${part}/`) && isCode(name));
    expect(offences(files.flatMap(wordsOf))).toEqual([]);
  },
);

it('titles of tests are in plain English', () => {
  const files = all.filter((name) => name.startsWith('test/') && name.endsWith('.test.ts'));
  expect(offences(files.flatMap(titlesOf))).toEqual([]);
});
