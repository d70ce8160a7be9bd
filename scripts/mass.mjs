/**
 * `npm run mass`: what a reader of this project has to hold. No figure may rise above the one that scripts/mass.json
 * records; `--write` lowers those that fell, and `--check` is silent about the rest.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at, root, say } from './root.mjs';

const RECORD = at('scripts', 'mass.json');
const require = createRequire(import.meta.url);

/** What each figure counts; the record has the same names. */
const NAMES = {
  leaves: "leaves of TypeScript's syntax tree of src",
  exports: 'exports of src',
  types: 'types of src',
  commands: 'commands',
  flags: 'flags of commands',
  options: 'options in code, and variables',
  errorCodes: 'error codes',
  limits: 'constants of contract/limits',
  docsBytes: 'bytes of the docs, README and CONTRIBUTING',
  otherSource: 'beside it: .mjs, .cjs, .css, .lisp … of src',
  templates: 'beside it: templates',
  bin: 'beside it: bin',
  scripts: 'beside it: scripts',
};

const filesOf = (...parts) =>
  readdirSync(at(...parts), { recursive: true, encoding: 'utf8' })
    .map((name) => at(...parts, name))
    .filter((file) => statSync(file).isFile())
    .sort();

const isTypeScript = (file) => /\.tsx?$/.test(file);
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

export const parse = (file, text) => {
  const ts = require('typescript');
  const { JS, JSON, TS, TSX } = ts.ScriptKind;
  const kind = { '.ts': TS, '.tsx': TSX, '.json': JSON }[extname(file)] ?? JS;
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, kind);
};

/** Leaves of the syntax tree. Comments count nothing, and how lines are packed changes nothing. */
export const leavesOf = (source) => {
  const { SyntaxKind } = require('typescript');
  let leaves = 0;
  const visit = (node) => {
    if (node.kind >= SyntaxKind.FirstJSDocNode && node.kind <= SyntaxKind.LastJSDocNode) return;
    const children = node.getChildren(source);
    if (children.length > 0) children.forEach(visit);
    else if (node.kind !== SyntaxKind.EndOfFileToken && node.getWidth(source) > 0) leaves += 1;
  };
  visit(source);
  return leaves;
};

/** Words and signs of a text that has no syntax tree here; comments of CSS and Lisp count nothing. */
const wordsOf = (text) => text.replace(/\/\*[^]*?\*\/|^\s*;.*$/gm, '').match(/[\w-]+|[^\w\s]/g)?.length ?? 0;

const massOf = (file) => {
  if (extname(file) === '.png') return 0;
  const text = readFileSync(file, 'utf8');
  return /\.([cm]?js|tsx?|json)$/.test(file) ? leavesOf(parse(file, text)) : wordsOf(text);
};

const exportsOf = (text) => text.match(/^export (?!\{|\*|type \{)/gm)?.length ?? 0;

const typesOf = (source) => {
  const ts = require('typescript');
  let types = 0;
  const visit = (node) => {
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) types += 1;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return types;
};

/** The program's own commands, those of groups too. */
const commandsOf = (command) => command.commands.flatMap((one) => [one, ...commandsOf(one)]);

const program = () => {
  const { createProgram } = require(at('lib', 'cli', 'program.js'));
  const commands = commandsOf(createProgram({ out: process.stdout, err: process.stderr, env: {} }));
  return { commands: commands.length, flags: sum(commands.map(({ options }) => options.length)) };
};

/** Tests compare the tables of the page with the code, both ways. */
const optionsOf = (page) =>
  sum([...page.matchAll(/^\| (`.*?`)\s+\|/gm)].map(([, cell]) => cell.match(/`[^`]+`/g).length));

const errorCodes = () => {
  const { ERROR_CODES } = require(at('lib', 'contract', 'errors.js'));
  const { TOOL_ERROR_CODES } = require(at('lib', 'contract', 'result.js'));
  const { REFUSAL_CODES } = require(at('lib', 'contract', 'decision.js'));
  return new Set([...ERROR_CODES, ...TOOL_ERROR_CODES, ...REFUSAL_CODES]).size;
};

const limits = () =>
  sum(
    Object.values(require(at('lib', 'contract', 'limits.js'))).map((one) =>
      typeof one === 'object' ? Object.keys(one).length : 1,
    ),
  );

/** Leaves of each folder of src, the largest first. */
const foldersOf = (sources) => {
  const folders = new Map();
  for (const { file, leaves } of sources) {
    const [, folder, inside] = relative(root, file).split(sep);
    const name = inside === undefined ? '.' : folder;
    folders.set(name, (folders.get(name) ?? 0) + leaves);
  }
  return [...folders].sort(([, a], [, b]) => b - a);
};

const measure = () => {
  const files = filesOf('src');
  const sources = files.filter(isTypeScript).map((file) => {
    const text = readFileSync(file, 'utf8');
    const source = parse(file, text);
    return { file, leaves: leavesOf(source), exports: exportsOf(text), types: typesOf(source) };
  });
  const pages = [
    at('README.md'),
    at('CONTRIBUTING.md'),
    ...filesOf('docs').filter((one) => /\.md$/.test(one)),
  ];
  const figures = {
    leaves: sum(sources.map(({ leaves }) => leaves)),
    exports: sum(sources.map((one) => one.exports)),
    types: sum(sources.map(({ types }) => types)),
    ...program(),
    options: optionsOf(readFileSync(at('docs', 'options.md'), 'utf8')),
    errorCodes: errorCodes(),
    limits: limits(),
    docsBytes: sum(pages.map((page) => statSync(page).size)),
    otherSource: sum(files.filter((file) => !isTypeScript(file)).map(massOf)),
    templates: sum(filesOf('templates').map(massOf)),
    bin: sum(filesOf('bin').map(massOf)),
    scripts: sum(filesOf('scripts').map(massOf)),
  };
  return { figures, folders: foldersOf(sources) };
};

const shown = (number) => number.toLocaleString('en');

/** Lines about figures that rose, the names of those that fell, and the record with these lowered. */
export const compare = (figures, recorded) => {
  const names = Object.keys(figures);
  const strange = [...names, ...Object.keys(recorded)].filter(
    (name) => !(name in figures && name in recorded),
  );
  if (strange.length > 0)
    throw new Error(`scripts/mass.json and scripts/mass.mjs differ in ${strange.join(', ')}`);
  const risen = names.flatMap((name) => {
    const [from, to] = [recorded[name], figures[name]];
    return to > from
      ? [`${name} rose by ${shown(to - from)}, from ${shown(from)} to ${shown(to)} (${NAMES[name]})`]
      : [];
  });
  const fallen = names.filter((name) => figures[name] < recorded[name]);
  const lowered = { ...recorded, ...Object.fromEntries(fallen.map((name) => [name, figures[name]])) };
  return { risen, fallen, lowered };
};

const ADVICE =
  'Delete as much elsewhere in the same change. If a figure has to rise, raise it by hand in scripts/mass.json, and say why in the message of that commit.';

const printFigures = (figures, folders) => {
  const lines = [
    ...folders.map(([name, leaves]) => [`  ${name}`, leaves]),
    ...Object.entries(NAMES).map(([name, about]) => [about, figures[name]]),
  ];
  for (const [name, number] of lines) console.log(`${name.padEnd(46)}${shown(number).padStart(10)}`);
};

const mass = (args) => {
  const unknown = args.filter((arg) => !['--write', '--check'].includes(arg));
  if (unknown.length > 0) throw new Error(`unknown ${unknown.join(', ')}; there are --write and --check`);
  const { figures, folders } = measure();
  const recorded = JSON.parse(readFileSync(RECORD, 'utf8'));
  if (!args.includes('--check')) printFigures(figures, folders);
  const { risen, fallen, lowered } = compare(figures, recorded);
  if (fallen.length > 0 && args.includes('--write')) {
    writeFileSync(RECORD, `${JSON.stringify(lowered, null, 2)}\n`);
    say(`lowered ${fallen.join(', ')}`);
  } else if (fallen.length > 0) {
    say(`${fallen.join(', ')} can be lowered: npm run mass -- --write`);
  }
  for (const line of risen) say(line);
  if (risen.length > 0) say(ADVICE);
  return risen.length > 0 ? 1 : 0;
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    process.exitCode = mass(process.argv.slice(2));
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}
