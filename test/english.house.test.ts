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

/** The number of a case in a list that nobody has: M04, CP1, (D11). Names that everybody knows stay: S3, IPv6, MD5. */
const NUMBERED: readonly RegExp[] = [
  /^(?!MD5\b)[A-Z]{1,3}\d{1,2}\b/,
  /\b[A-Z]{1,3}0\d\b/,
  /\([A-Z]{1,3}\d{1,2}\)/,
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

const parse = (name: string, text = read(name)): ts.SourceFile =>
  ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);

const isText = (node: ts.Node): node is ts.LiteralLikeNode =>
  ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node);

const isSpecifier = ({ parent }: ts.Node): boolean =>
  ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent);

/** What `describe`, `it` and their tables are called with first. */
const titlesOf = (file: ts.SourceFile): Line[] =>
  textsOf(file, (node) =>
    ts.isCallExpression(node) && isTestCall(node.expression) ? node.arguments[0] : undefined,
  );

/** The first cells of rows, wherever the table stands. */
const firstCellsOf = (file: ts.SourceFile): Line[] =>
  textsOf(file, (node) =>
    ts.isArrayLiteralExpression(node) && node.elements.length > 1 && isRow(node)
      ? node.elements[0]
      : undefined,
  );

/** An array in an array, or what a function makes of each element of one. */
const isRow = ({ parent }: ts.Node): boolean =>
  ts.isAsExpression(parent) || ts.isParenthesizedExpression(parent)
    ? isRow(parent)
    : ts.isArrayLiteralExpression(parent) || ts.isArrowFunction(parent);

const textsOf = (file: ts.SourceFile, pick: (node: ts.Node) => ts.Node | undefined): Line[] => {
  const found: Line[] = [];
  const visit = (node: ts.Node): void => {
    const picked = pick(node);
    const text = picked && (ts.isTemplateExpression(picked) ? picked.head : picked);
    if (text && isText(text)) found.push({ place: file.fileName, text: text.text });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
};

/** `it`, `it.each(…)`, `describe.skip`, `describeWithBubblewrap` and their like. */
const isTestCall = (callee: ts.Expression): boolean =>
  ts.isIdentifier(callee)
    ? /^(describe|it|test)([A-Z]|$)/.test(callee.text)
    : (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) && isTestCall(callee.expression);

const offences = (lines: readonly Line[], refused = REFUSED): string[] =>
  lines
    .filter(({ text }) => refused.some((pattern) => pattern.test(text)))
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

  it.each([
    "it('M04: shows all', run)",
    "it.concurrent('shows all (M4)', run)",
    'describeWithTools(`D1 ${what}`, run)',
    "it.each([['CP1: first', 1]])('%s', run)",
    "const rows = [['E01', 'a', 1] as const]",
    "urls.map((url) => ['E01', url])",
    "it('shows all, and C02', run)",
  ])('refuses the number of a case: %s', (code) => {
    expect(numbered(parse('here', code))).toHaveLength(1);
  });

  it.each([
    "it('reads S3, IPv6, SHA256, HTTP2 and V8', run)",
    "it.each([['MD5', 1], ['a C1 control', 2]])('%s', run)",
    "it.each(['AP8', 'AP8Q'])('takes %s', run)",
    "send(['C1', 'C2'])",
  ])('allows a name: %s', (code) => {
    expect(numbered(parse('here', code))).toEqual([]);
  });
});

const numbered = (file: ts.SourceFile): string[] =>
  offences([...titlesOf(file), ...firstCellsOf(file)], NUMBERED);

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
  expect(offences(files.flatMap((name) => titlesOf(parse(name))))).toEqual([]);
});

it('titles and tables of tests say the case, not its number in a list', () => {
  const files = all.filter((name) => name.startsWith('test/') && name.endsWith('.ts'));
  expect(files.flatMap((name) => numbered(parse(name)))).toEqual([]);
});
