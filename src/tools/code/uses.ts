import type ts from 'typescript';
import { ToolError } from '../errors';
import { kindOf } from './declarations';
import { atMost, counted, headOf, nameOf, oneLine, placeOfDeclaration } from './describe';
import type { Project, TypeScript, Workbench } from './project';
import { findTarget, nodeAt, lineAndColumn, type SymbolTarget } from './symbols';

/** The most places that are listed. If there are more, the answer gives their number. */
const MOST_USES = 200;
/** The most functions that are listed as callers, and the most places in each function. */
const MOST_CALLERS = 100;
const MOST_CALLS = 10;
/** The most lines of a hierarchy. */
const MOST_TYPES = 200;
/** The most characters of a line of code. */
const LINE_CHARACTERS = 160;

/** One place where a symbol is used, in one of the projects. */
interface Use {
  project: Project;
  source: ts.SourceFile;
  node: ts.Node;
  position: number;
  isWrite: boolean;
}

/** The uses in all projects that contain the declaration: each place once, ordered by file and position. */
function usesOf(bench: Workbench, target: SymbolTarget): Use[] {
  const seen = new Map<string, Use>();
  for (const { project, source, position } of startsOf(bench, target)) {
    for (const { references } of project.service.findReferences(source.fileName, position) ?? [])
      for (const { fileName, textSpan, isWriteAccess } of references) {
        const use = toUse(bench, project, { fileName, position: textSpan.start, isWrite: isWriteAccess });
        if (use !== undefined) seen.set(`${fileName}:${textSpan.start}`, use);
      }
  }
  return [...seen.values()].sort(byPlace);
}

const byPlace = (a: Use, b: Use): number =>
  a.source.fileName === b.source.fileName
    ? a.position - b.position
    : a.source.fileName < b.source.fileName
      ? -1
      : 1;

function toUse(
  { ts: typescript, files }: Workbench,
  project: Project,
  { fileName, position, isWrite }: { fileName: string; position: number; isWrite: boolean },
): Use | undefined {
  const source = project.program.getSourceFile(fileName);
  if (source === undefined || !files.isBelowRoot(fileName)) return undefined;
  const node = nodeAt(typescript, source, position);
  // A comment that names the symbol is not code, so it is not a use.
  return node && { project, source, node, position, isWrite };
}

/** The place at which each project looks for uses: the name in the declaration, or else the name in the question. */
function startsOf({ projects }: Workbench, { symbol, node, source }: SymbolTarget) {
  const [declaration] = symbol.declarations ?? [];
  const name = declaration && nameNodeOf(declaration);
  const file = (name ?? node).getSourceFile();
  const position = name === undefined ? node.getStart(source) : name.getStart(file);
  return projects.flatMap((project) => {
    const own = project.program.getSourceFile(file.fileName);
    return own === undefined ? [] : [{ project, source: own, position }];
  });
}

function nameNodeOf(declaration: ts.Declaration): ts.Node | undefined {
  const name: unknown = Reflect.get(declaration, 'name');
  return isNode(name) ? name : undefined;
}

const isNode = (value: unknown): value is ts.Node =>
  typeof value === 'object' && value !== null && 'kind' in value && 'getStart' in value;

/** `find_references`: every place that uses a symbol, with its line. */
export function findReferences(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const declared = new Set((target.symbol.declarations ?? []).map((one) => placeOfDeclaration(bench, one)));
  const uses = usesOf(bench, target).filter(
    ({ source, position }) => !declared.has(lineAndColumn(bench, source, position)),
  );
  const lines = uses.map(
    (use) => `  ${lineAndColumn(bench, use.source, use.position)}: ${useKind(bench.ts, use)}: ${lineOf(use)}`,
  );
  const files = new Set(uses.map(({ source }) => source.fileName)).size;
  if (lines.length === 0) return `${headOf(bench, target)}\nNothing else refers to it.`;
  const head = `${counted(lines.length, 'reference')} in ${counted(files, 'file')}, declarations left out:`;
  return [headOf(bench, target), head, ...atMost(lines, MOST_USES, 'references')].join('\n');
}

function useKind(typescript: TypeScript, { node, isWrite }: Use): string {
  if (typescript.findAncestor(node, typescript.isImportDeclaration) !== undefined) return 'import';
  if (typescript.isExportSpecifier(node.parent)) return 'export';
  if (isCalled(typescript, node)) return 'call';
  if (typescript.isExpressionWithTypeArguments(node.parent)) return 'supertype';
  if (typescript.findAncestor(node, typescript.isTypeNode) !== undefined) return 'type';
  return isWrite ? 'write' : 'read';
}

/** The line of code. Lines of JSON files are left out, because their values may be secrets. */
function lineOf({ source, position }: Use): string {
  if (source.fileName.endsWith('.json')) return '(JSON)';
  const { line } = source.getLineAndCharacterOfPosition(position);
  const starts = source.getLineStarts();
  return oneLine(source.text.slice(starts[line], starts[line + 1]).trim(), LINE_CHARACTERS);
}

/** True when a call, a `new`, a tagged template, a JSX element or a decorator calls the name. */
function isCalled(typescript: TypeScript, name: ts.Node): boolean {
  let node = name;
  let { parent } = node;
  while (
    (typescript.isPropertyAccessExpression(parent) && parent.name === node) ||
    typescript.isNonNullExpression(parent) ||
    typescript.isParenthesizedExpression(parent)
  )
    [node, parent] = [parent, parent.parent];
  if (typescript.isCallExpression(parent) || typescript.isNewExpression(parent))
    return parent.expression === node;
  if (typescript.isTaggedTemplateExpression(parent)) return parent.tag === node;
  if (typescript.isJsxOpeningLikeElement(parent)) return parent.tagName === node;
  return typescript.isDecorator(parent);
}

/** `find_callers`: the functions that call a symbol, with the places of the calls. */
export function findCallers(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const calls = usesOf(bench, target).filter(({ node }) => isCalled(bench.ts, node));
  if (calls.length === 0)
    return `${headOf(bench, target)}\nNothing calls it by its name. It may be passed on as a value: see find_references.`;
  const callers = new Map<string, { head: string; places: string[] }>();
  for (const call of calls) {
    const { key, head } = callerOf(bench, call);
    const caller = callers.get(key) ?? { head, places: [] };
    callers.set(key, caller);
    const { line, character } = call.source.getLineAndCharacterOfPosition(call.position);
    caller.places.push(`${line + 1}:${character + 1}`);
  }
  const lines = [...callers.values()].map(({ head, places }) => {
    const more = places.length > MOST_CALLS ? ` and ${places.length - MOST_CALLS} more` : '';
    return `  ${head}: ${places.slice(0, MOST_CALLS).join(', ')}${more}`;
  });
  const head = `${counted(calls.length, 'call')} from ${counted(lines.length, 'place')}; each with its lines and columns:`;
  return [headOf(bench, target), head, ...atMost(lines, MOST_CALLERS, 'callers')].join('\n');
}

/** The named functions and classes around a call, the outermost first; the file for a call at the top level. */
function callerOf(bench: Workbench, { node, source }: Use): { key: string; head: string } {
  const { ts: typescript } = bench;
  const names: string[] = [];
  let start = 0;
  let kind = '';
  for (let one = node.parent; !typescript.isSourceFile(one); one = one.parent) {
    const name = callerName(typescript, one, source);
    if (name === undefined) continue;
    names.unshift(name);
    if (kind === '') [kind, start] = [kindOf(typescript, one), one.getStart(source)];
  }
  const file = bench.files.shown(source.fileName);
  if (names.length === 0) return { key: source.fileName, head: `${file} (top level)` };
  return { key: `${source.fileName}:${start}`, head: `${file} ${oneLine(names.join('.'), 300)} (${kind})` };
}

function callerName(typescript: TypeScript, node: ts.Node, source: ts.SourceFile): string | undefined {
  if (typescript.isConstructorDeclaration(node)) return 'constructor';
  const isFunctionVariable =
    (typescript.isVariableDeclaration(node) || typescript.isPropertyAssignment(node)) &&
    node.initializer !== undefined &&
    (typescript.isFunctionExpression(node.initializer) ||
      typescript.isArrowFunction(node.initializer) ||
      typescript.isObjectLiteralExpression(node.initializer));
  const isNamed =
    isFunctionVariable ||
    typescript.isFunctionDeclaration(node) ||
    typescript.isMethodDeclaration(node) ||
    typescript.isAccessor(node) ||
    typescript.isClassLike(node) ||
    typescript.isPropertyDeclaration(node);
  if (!isNamed) return undefined;
  return node.name?.getText(source) ?? 'default';
}

/**
 * `type_hierarchy`: the types that a class or interface extends or implements, and the types that extend or implement
 * the class or interface.
 */
export function typeHierarchy(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const { Class, Interface } = bench.ts.SymbolFlags;
  if ((target.symbol.flags & (Class | Interface)) === 0)
    throw new ToolError(`${headOf(bench, target)} is neither a class nor an interface.`);
  const up = new Set<string>();
  addSupertypes(bench, target.project, { symbol: target.symbol, depth: 1, lines: up });
  const down = subtypesOf(bench, target);
  return [
    headOf(bench, target),
    up.size === 0 ? 'It extends and implements nothing.' : 'Supertypes:',
    ...atMost([...up], MOST_TYPES, 'types'),
    down.length === 0 ? 'Nothing extends or implements it.' : 'Subtypes:',
    ...atMost(down, MOST_TYPES, 'types'),
  ].join('\n');
}

/** The most levels of a hierarchy that are followed. A cycle is an error in the code, which TypeScript reports. */
const MOST_LEVELS = 20;

interface Level {
  symbol: ts.Symbol;
  depth: number;
  /** A set, because a type that is reached in two ways is listed once. */
  lines: Set<string>;
}

function addSupertypes(bench: Workbench, project: Project, { symbol, depth, lines }: Level): void {
  for (const { word, base } of (symbol.declarations ?? []).flatMap((one) => basesOf(bench, project, one))) {
    const line = `${'  '.repeat(depth)}${word} ${typeText(bench, base)}`;
    if (lines.has(line) || depth > MOST_LEVELS) continue;
    lines.add(line);
    addSupertypes(bench, project, { symbol: base, depth: depth + 1, lines });
  }
}

interface Base {
  word: 'extends' | 'implements';
  base: ts.Symbol;
}

/** The types after `extends` and `implements` in a declaration, as far as they have names. */
function basesOf({ ts: typescript }: Workbench, { checker }: Project, declaration: ts.Node): Base[] {
  if (!typescript.isClassLike(declaration) && !typescript.isInterfaceDeclaration(declaration)) return [];
  return (declaration.heritageClauses ?? []).flatMap(({ token, types }) =>
    types.flatMap((type): Base[] => {
      const found = checker.getTypeAtLocation(type);
      const base: ts.Symbol | undefined = found.aliasSymbol ?? found.symbol;
      const isExtended = token === typescript.SyntaxKind.ExtendsKeyword;
      return base === undefined ? [] : [{ word: isExtended ? 'extends' : 'implements', base }];
    }),
  );
}

function typeText(bench: Workbench, symbol: ts.Symbol): string {
  const [declaration] = symbol.declarations ?? [];
  const name = nameOf(bench, symbol);
  if (declaration === undefined) return name;
  const place = placeOfDeclaration(bench, declaration);
  return `${name} (${kindOf(bench.ts, declaration)}, ${place})`;
}

/** All types that extend or implement the target, as a tree across projects. Each line appears once. */
function subtypesOf(bench: Workbench, target: SymbolTarget): string[] {
  const lines = new Set<string>();
  for (const { project, source, position } of startsOf(bench, target)) {
    const name = nodeAt(bench.ts, source, position);
    const symbol = name && project.checker.getSymbolAtLocation(name);
    if (symbol === undefined) continue;
    addSubtypes(bench, childrenIn(bench, project), { symbol, depth: 1, lines });
  }
  return [...lines];
}

type Children = ReadonlyMap<ts.Symbol, readonly { word: Base['word']; child: ts.Symbol }[]>;

function addSubtypes(bench: Workbench, children: Children, { symbol, depth, lines }: Level): void {
  for (const { word, child } of children.get(symbol) ?? []) {
    const line = `${'  '.repeat(depth)}${typeText(bench, child)} ${word} it`;
    if (lines.has(line) || depth > MOST_LEVELS) continue;
    lines.add(line);
    addSubtypes(bench, children, { symbol: child, depth: depth + 1, lines });
  }
}

/** Maps each class and interface to the types in the sources that extend or implement it. */
function childrenIn(bench: Workbench, project: Project): Children {
  const { ts: typescript } = bench;
  const children = new Map<ts.Symbol, { word: Base['word']; child: ts.Symbol }[]>();
  const visit = (node: ts.Node): void => {
    if (typescript.isClassLike(node) || typescript.isInterfaceDeclaration(node)) {
      const child: ts.Symbol | undefined = project.checker.getTypeAtLocation(node).symbol;
      for (const { word, base } of child === undefined ? [] : basesOf(bench, project, node))
        children.set(base, [...(children.get(base) ?? []), { word, child }]);
    }
    typescript.forEachChild(node, visit);
  };
  for (const source of project.sources) visit(source);
  return children;
}
