import type ts from 'typescript';
import { join } from 'node:path';
import { ToolError } from '../errors';
import { editsBetween } from '../tool-names';
import { normalPath, onOneLine } from '../workspace/path';
import { type Declared, declarationsOf, kindOf } from './declarations';
import type { Project, TypeScript, Workbench } from './project';

/** A name that a question is about. */
export interface SymbolTarget {
  readonly project: Project;
  /** The name, where it is declared or used. */
  readonly node: ts.Node;
  readonly source: ts.SourceFile;
  /** The symbol of the name, with imports followed. */
  readonly symbol: ts.Symbol;
}

/** The most declarations in an error for an ambiguous name, and the most names in an error for an unknown name. */
const MOST_CANDIDATES = 20;
const MOST_SUGGESTIONS = 8;

/**
 * Finds the symbol of a name: `name`, `Class.member`, `path/file.ts:name`, or `path/file.ts:line:column`.
 *
 * @throws ToolError with similar names if no symbol has the name, and with all places if several symbols have the name.
 */
export function findTarget(bench: Workbench, given: string): SymbolTarget {
  const [, file, line, column] = /^(.+):(\d+):(\d+)$/s.exec(given) ?? [];
  if (file !== undefined) return atPosition(bench, file, { line: Number(line), column: Number(column) });
  const [, inFile, name = given] = /^(.+\.[cm]?[jt]sx?):(.+)$/s.exec(given) ?? [];
  const among = inFile === undefined ? declaredIn(bench) : declaredInFile(bench, inFile);
  const targets = bestOf(among, name.trim()).flatMap((one) => toTarget(bench, one.project, one.name) ?? []);
  const different = withoutOutput(targets).filter(
    ({ symbol }, index, all) => all.findIndex((other) => isSame(other.symbol, symbol)) === index,
  );
  const [first, second] = different;
  if (first === undefined) throw unknown(bench, given, among, name.trim());
  if (second !== undefined) throw ambiguous(bench, given, different);
  return first;
}

/** If other targets remain, leaves out the targets in declaration files. Usually a build made these files. */
function withoutOutput(targets: readonly SymbolTarget[]): readonly SymbolTarget[] {
  const written = targets.filter(({ source }) => !source.isDeclarationFile);
  return written.length === 0 ? targets : written;
}

/** Symbols of two programs are the same if they are declared in the same place. */
function isSame(a: ts.Symbol, b: ts.Symbol): boolean {
  const [first] = a.declarations ?? [];
  const [second] = b.declarations ?? [];
  if (first === undefined || second === undefined) return a === b;
  return first.pos === second.pos && first.getSourceFile().fileName === second.getSourceFile().fileName;
}

type InProject = Declared & { readonly project: Project };

/** All declarations of the sources. A file that belongs to several projects counts once. */
export function declaredIn({ ts: typescript, projects }: Workbench): InProject[] {
  const seen = new Set<string>();
  return projects.flatMap((project) =>
    project.sources.flatMap((source) => {
      if (seen.has(source.fileName)) return [];
      seen.add(source.fileName);
      return declarationsOf(typescript, source).map((one) => ({ ...one, project }));
    }),
  );
}

function declaredInFile(bench: Workbench, file: string): InProject[] {
  const { project, source } = sourceOf(bench, file);
  return declarationsOf(bench.ts, source).map((one) => ({ ...one, project }));
}

/** A source of a project, by its path below the root. @throws ToolError if no project has it. */
export function sourceOf(
  { files, projects }: Workbench,
  file: string,
): Pick<SymbolTarget, 'project' | 'source'> {
  const path = join(files.root, normalPath(file));
  for (const project of projects) {
    const source = project.program.getSourceFile(path);
    if (source !== undefined) return { project, source };
  }
  const configs = projects.map(({ config }) => files.shown(config)).join(', ');
  throw new ToolError(
    `"${onOneLine(file).slice(0, 200)}" is not a source of ${configs}. ${
      files.isFile(path) ? 'It is there, but no config includes it.' : 'There is no such source file.'
    } Find files with search_code_symbols.`,
  );
}

/** A place in a file. Lines and columns count from 1. */
interface Position {
  line: number;
  column: number;
}

function atPosition(bench: Workbench, file: string, { line, column }: Position): SymbolTarget {
  const { project, source } = sourceOf(bench, file);
  const starts = source.getLineStarts();
  const start = starts[line - 1];
  const end = starts[line] ?? source.text.length + 1;
  if (start === undefined || column < 1 || start + column - 1 >= end)
    throw new ToolError(`"${onOneLine(file)}" has no line ${line} with a column ${column}.`);
  const node = nodeAt(bench.ts, source, start + column - 1);
  const target = node === undefined ? undefined : toTarget(bench, project, node);
  if (target !== undefined) return target;
  throw new ToolError(
    `There is no name at ${onOneLine(file)}:${line}:${column}. Give the place where a name begins.`,
  );
}

/** The innermost node around a place. */
export function nodeAt(typescript: TypeScript, source: ts.SourceFile, position: number): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (position < node.getStart(source) || position >= node.getEnd()) return;
    found = node;
    typescript.forEachChild(node, visit);
  };
  typescript.forEachChild(source, visit);
  return found;
}

/** A name with its symbol. Imports are followed. */
function toTarget(bench: Workbench, project: Project, node: ts.Node): SymbolTarget | undefined {
  const symbol = symbolOf(bench, project, node);
  return symbol && { project, node, source: node.getSourceFile(), symbol: resolved(bench, project, symbol) };
}

/** The symbol at a node. The first word of a class or function without a name stands for that class or function. */
function symbolOf({ ts: typescript }: Workbench, { checker }: Project, node: ts.Node): ts.Symbol | undefined {
  const found = checker.getSymbolAtLocation(node);
  const { parent } = node;
  const isNameless =
    found === undefined &&
    (typescript.isFunctionDeclaration(parent) || typescript.isClassDeclaration(parent)) &&
    parent.name === undefined;
  return isNameless ? checker.getTypeAtLocation(parent).symbol : found;
}

/** The symbol that an import or a re-export leads to; the symbol itself if it leads nowhere. */
function resolved(
  { ts: typescript }: Pick<Workbench, 'ts'>,
  { checker }: Project,
  symbol: ts.Symbol,
): ts.Symbol {
  if ((symbol.flags & typescript.SymbolFlags.Alias) === 0) return symbol;
  const behind = checker.getAliasedSymbol(symbol);
  return (behind.declarations ?? []).length === 0 ? symbol : behind;
}

/**
 * The declarations with exactly this path. If there are none, the declarations whose path ends with the given one,
 * because a member may be named without its class.
 */
function bestOf(among: readonly InProject[], name: string): InProject[] {
  const exact = among.filter(({ path }) => path === name);
  return exact.length > 0 ? exact : among.filter(({ path }) => path.endsWith(`.${name}`));
}

function ambiguous(bench: Workbench, given: string, targets: readonly SymbolTarget[]): ToolError {
  const lines = targets.slice(0, MOST_CANDIDATES).map(({ node, source }) => {
    const kind = kindOf(bench.ts, node.parent);
    return `  ${lineAndColumn(bench, source, node.getStart(source))} (${kind})`;
  });
  const more = targets.length > MOST_CANDIDATES ? [`  … and ${targets.length - MOST_CANDIDATES} more`] : [];
  return new ToolError(
    [
      `${shownName(given)} names ${targets.length} symbols. Give one of these places, or path/file.ts:name:`,
      ...lines,
      ...more,
    ].join('\n'),
  );
}

function unknown(bench: Workbench, given: string, among: readonly InProject[], name: string): ToolError {
  const near = nearNames(
    among.map(({ path }) => path),
    name,
  );
  const hint =
    near.length === 0
      ? 'Find names with search_code_symbols.'
      : `Near names: ${near.map((one) => onOneLine(one)).join(', ')}.`;
  const where = bench.projects.map(({ config }) => bench.files.shown(config)).join(', ');
  return new ToolError(
    `No source of ${where} declares ${shownName(given)}. ${hint} A local name is given as path/file.ts:line:column.`,
  );
}

const shownName = (given: string): string => JSON.stringify(given.slice(0, 200));

/** Names that contain the wanted name, or that differ from it in a few letters. */
function nearNames(names: readonly string[], wanted: string): string[] {
  const low = wanted.toLowerCase();
  const most = Math.max(1, Math.floor(low.length / 3));
  const scored = [...new Set(names)].flatMap((name) => {
    const last = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
    const distance = Math.min(editDistance(last, low), editDistance(name.toLowerCase(), low));
    const isPart = low.length > 2 && last.includes(low);
    return distance <= most || isPart ? [{ name, distance }] : [];
  });
  return scored
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name);
}

/** Names longer than this are not compared letter by letter. */
const MOST_COMPARED = 64;

/** The edit distance. Infinite if the lengths differ too much, or if a name is too long to compare. */
function editDistance(a: string, b: string): number {
  const isFar = Math.abs(a.length - b.length) > b.length / 3 + 1;
  return isFar || Math.max(a.length, b.length) > MOST_COMPARED ? Infinity : editsBetween(a, b);
}

/** `path:line:column`, counted from 1. */
export function lineAndColumn(
  { files }: Pick<Workbench, 'files'>,
  source: ts.SourceFile,
  position: number,
): string {
  const { line, character } = source.getLineAndCharacterOfPosition(position);
  return `${files.shown(source.fileName)}:${line + 1}:${character + 1}`;
}
