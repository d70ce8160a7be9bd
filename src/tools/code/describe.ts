import type ts from 'typescript';
import { codePointOf } from '../../contract/text/look-alikes';
import { ToolError } from '../errors';
import { type Declared, kindOf } from './declarations';
import type { Workbench } from './project';
import { declaredIn, findTarget, lineAndColumn, type SymbolTarget } from './symbols';

/** The most characters of one signature or type. A handwritten type fits; a computed type may be endless. */
const MOST_TYPE = 4000;
/** The most characters of the documentation of a declaration. */
const MOST_WORDS = 2000;
/** The most declarations that a search lists. A model that misses a declaration can search more narrowly. */
const MOST_FOUND = 100;
/** The most members that are listed. The largest classes of libraries have fewer. */
const MOST_MEMBERS = 300;
/** The most signatures of an overloaded function. */
const MOST_SIGNATURES = 30;
/** The most places of a symbol that is declared in several places. */
const MOST_PLACES = 10;

/** `describe_code_symbol`: type, documentation and places of a symbol. */
export function describeSymbol(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const { project, source, node } = target;
  const info = project.service.getQuickInfoAtPosition(source.fileName, node.getStart(source));
  const type = info === undefined ? '' : bench.ts.displayPartsToString(info.displayParts);
  return [
    headOf(bench, target),
    ...block(cut(type, MOST_TYPE)),
    ...wordsOf(bench, target, MOST_WORDS),
    ...placesOf(bench, target),
  ].join('\n');
}

/** The name in a symbol's declaration. A class expression in a constant has the name of the constant. */
export function nameOf({ ts: typescript }: Workbench, symbol: ts.Symbol): string {
  const [declaration] = symbol.declarations ?? [];
  const name = declaration && typescript.getNameOfDeclaration(declaration);
  return oneLine(name !== undefined && typescript.isIdentifier(name) ? name.text : symbol.name, 200);
}

/** The name and kind of a symbol, and the place of its first declaration. */
export function headOf(bench: Workbench, { symbol, source, node }: SymbolTarget): string {
  const [declaration] = symbol.declarations ?? [];
  if (declaration === undefined)
    return `${nameOf(bench, symbol)}, used at ${lineAndColumn(bench, source, node.getStart(source))}`;
  const exported = isExported(bench, declaration) ? ', exported' : '';
  return `${nameOf(bench, symbol)}: ${kindOf(bench.ts, declaration)}${exported}, ${placeOfDeclaration(bench, declaration)}`;
}

function isExported({ ts: typescript }: Workbench, declaration: ts.Declaration): boolean {
  return (typescript.getCombinedModifierFlags(declaration) & typescript.ModifierFlags.Export) !== 0;
}

/** The place of the declaration's name. */
export function placeOfDeclaration(bench: Workbench, declaration: ts.Declaration): string {
  const source = declaration.getSourceFile();
  const name = bench.ts.getNameOfDeclaration(declaration) ?? declaration;
  return lineAndColumn(bench, source, name.getStart(source));
}

function wordsOf({ ts: typescript }: Workbench, { symbol, project }: SymbolTarget, most: number): string[] {
  const words = typescript.displayPartsToString(symbol.getDocumentationComment(project.checker));
  const tags = symbol
    .getJsDocTags(project.checker)
    .map(({ name, text }) => `@${name} ${typescript.displayPartsToString(text)}`.trimEnd());
  const all = [words, ...tags].filter((text) => text !== '').join('\n');
  return all === '' ? [] : ['', ...block(cut(all, most))];
}

function placesOf(bench: Workbench, { symbol }: SymbolTarget): string[] {
  const places = (symbol.declarations ?? []).map(
    (one) => `  ${placeOfDeclaration(bench, one)} (${kindOf(bench.ts, one)})`,
  );
  if (places.length < 2) return [];
  return ['', `Declared in ${places.length} places:`, ...atMost(places, MOST_PLACES, 'places')];
}

/** `function_signature`: every overload with its parameters; for a class, the signatures of its constructor. */
export function functionSignature(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const { project, node, symbol } = target;
  const type = project.checker.getTypeOfSymbolAtLocation(symbol, node);
  const calls = type.getCallSignatures();
  const signatures = [...calls, ...type.getConstructSignatures()];
  if (signatures.length === 0)
    throw new ToolError(
      `${headOf(bench, target)} cannot be called. Use describe_code_symbol or list_members.`,
    );
  const lines = signatures.map((one) => signatureText(bench, target, one, calls.includes(one)));
  return [
    headOf(bench, target),
    ...atMost(lines, MOST_SIGNATURES, 'signatures'),
    ...wordsOf(bench, target, MOST_WORDS),
  ].join('\n');
}

function signatureText(
  bench: Workbench,
  { project, node, symbol }: SymbolTarget,
  signature: ts.Signature,
  isCall: boolean,
): string {
  const text = project.checker.signatureToString(signature, node, bench.ts.TypeFormatFlags.NoTruncation);
  return `  ${isCall ? '' : 'new '}${nameOf(bench, symbol)}${oneLine(text, MOST_TYPE)}`;
}

/** `list_members`: the members of a class, interface, type, enum, namespace, module or object. */
export function listMembers(bench: Workbench, { symbol: given }: { symbol: string }): string {
  const target = findTarget(bench, given);
  const members = membersOf(bench, target).flatMap(({ label, members: some }) =>
    [...some]
      .sort((a, b) => compare(a.name, b.name))
      .map((member) => memberText(bench, target, { label, member })),
  );
  const lines = [...namelessOf(bench, target), ...members];
  if (lines.length === 0) throw new ToolError(`${headOf(bench, target)} has no members.`);
  return [headOf(bench, target), ...atMost(lines, MOST_MEMBERS, 'members')].join('\n');
}

/** The call signatures, construct signatures and index signatures of a type. */
function namelessOf(bench: Workbench, { project: { checker }, symbol, node }: SymbolTarget): string[] {
  const { Class, Interface, TypeAlias } = bench.ts.SymbolFlags;
  if ((symbol.flags & (Class | Interface | TypeAlias)) === 0) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const shown = (one: ts.Signature): string => oneLine(checker.signatureToString(one, node), MOST_TYPE);
  return [
    ...type.getCallSignatures().map((one) => `  ${shown(one)}`),
    ...type.getConstructSignatures().map((one) => `  new ${shown(one)}`),
    ...checker
      .getIndexInfosOfType(type)
      .map((one) => `  [${checker.typeToString(one.keyType)}]: ${checker.typeToString(one.type, node)}`),
  ];
}

interface Members {
  /** The text before each name: `static `, or nothing. */
  label: string;
  members: readonly ts.Symbol[];
}

function membersOf(
  { ts: typescript }: Workbench,
  { project: { checker }, symbol, node }: SymbolTarget,
): Members[] {
  const { Class, Interface, TypeAlias, Module, Enum } = typescript.SymbolFlags;
  const is = (flags: ts.SymbolFlags): boolean => (symbol.flags & flags) !== 0;
  if (is(Module | Enum)) return [{ label: '', members: checker.getExportsOfModule(symbol) }];
  if (!is(Class | Interface | TypeAlias))
    return [{ label: '', members: checker.getTypeOfSymbolAtLocation(symbol, node).getProperties() }];
  const own = { label: '', members: checker.getDeclaredTypeOfSymbol(symbol).getProperties() };
  if (!is(Class)) return [own];
  const statics = checker.getTypeOfSymbolAtLocation(symbol, node).getProperties();
  return [own, { label: 'static ', members: statics.filter(({ name }) => name !== 'prototype') }];
}

function memberText(
  bench: Workbench,
  { project: { checker }, symbol, node }: SymbolTarget,
  { label, member }: { label: string; member: ts.Symbol },
): string {
  const { ts: typescript } = bench;
  const [declaration] = member.declarations ?? [];
  const type = checker.typeToString(checker.getTypeOfSymbolAtLocation(member, node), node);
  const optional = (member.flags & typescript.SymbolFlags.Optional) === 0 ? '' : '?';
  const modifiers = declaration === undefined ? '' : modifiersOf(typescript, declaration);
  const text = `  ${modifiers}${label}${nameOf(bench, member)}${optional}: ${oneLine(type, MOST_TYPE)}`;
  if (declaration === undefined) return text;
  const owner = checker.getSymbolAtLocation(
    typescript.getNameOfDeclaration(asNamed(typescript, declaration.parent)) ?? declaration,
  );
  const from =
    owner === undefined || owner === symbol || owner === member ? '' : ` from ${nameOf(bench, owner)}`;
  return `${text}  (${placeOfDeclaration(bench, declaration)}${from})`;
}

/** The class or interface that contains a member. Undefined for another container. */
function asNamed(typescript: typeof ts, node: ts.Node): ts.Declaration | undefined {
  return typescript.isClassLike(node) || typescript.isInterfaceDeclaration(node) ? node : undefined;
}

function modifiersOf(typescript: typeof ts, declaration: ts.Declaration): string {
  const flags = typescript.getCombinedModifierFlags(declaration);
  const { Private, Protected, Readonly, Abstract } = typescript.ModifierFlags;
  const words: [number, string][] = [
    [Private, 'private '],
    [Protected, 'protected '],
    [Abstract, 'abstract '],
    [Readonly, 'readonly '],
  ];
  return words.flatMap(([flag, word]) => ((flags & flag) === 0 ? [] : word)).join('');
}

/** The arguments of a search. */
interface Search {
  pattern: string;
  kind?: string;
  path?: string;
}

/** `search_code_symbols`: declarations whose names contain a text; equal names first, then names that begin with it. */
export function searchSymbols(bench: Workbench, { pattern, kind, path = '' }: Search): string {
  const wanted = pattern.toLowerCase();
  const found = declaredIn(bench)
    .map((one) => ({ one, rank: rankOf(one, wanted), file: bench.files.shown(one.source.fileName) }))
    .filter(
      ({ one, rank, file }) =>
        rank !== undefined && (kind === undefined || one.kind === kind) && isIn(file, path),
    )
    .sort(
      (a, b) => (a.rank ?? 0) - (b.rank ?? 0) || compare(a.one.path, b.one.path) || compare(a.file, b.file),
    );
  const what = `"${oneLine(pattern, 200)}"${kind === undefined ? '' : ` of kind ${kind}`}`;
  if (found.length === 0) return `No declaration has ${what} in its name.`;
  const lines = found.map(({ one }) => {
    const place = lineAndColumn(bench, one.source, one.name.getStart(one.source));
    return `  ${oneLine(one.path, 300)}: ${one.kind}${one.isExported ? ', exported' : ''}, ${place}`;
  });
  return [
    `${counted(lines.length, 'declaration')} with ${what}:`,
    ...atMost(lines, MOST_FOUND, 'declarations'),
  ].join('\n');
}

const isIn = (file: string, path: string): boolean => {
  const folder = path.replace(/^\.\//, '').replace(/\/$/, '');
  return folder === '' || folder === '.' || file === folder || file.startsWith(`${folder}/`);
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The rank of a declaration, best is 0. Undefined if its name does not contain the text. */
function rankOf({ path }: Declared, wanted: string): number | undefined {
  const whole = path.toLowerCase();
  const last = whole.slice(whole.lastIndexOf('.') + 1);
  if (whole === wanted || last === wanted) return whole === wanted ? 0 : 1;
  if (last.startsWith(wanted)) return 2;
  return last.includes(wanted) || whole.includes(wanted) ? 3 : undefined;
}

/** The first `most` lines, and a line with the number of the lines that were left out. */
export function atMost(lines: readonly string[], most: number, what: string): string[] {
  if (lines.length <= most) return [...lines];
  return [...lines.slice(0, most), `  (${lines.length - most} more ${what})`];
}

/** A number and a noun: `1 place`, `2 places`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Text on one line of at most `most` characters. Invisible characters are written as their code points. */
export function oneLine(text: string, most: number): string {
  return cut(text.replace(/\s+/g, ' '), most).replace(HIDDEN, (sign) => codePointOf(sign));
}

/** Lines with an indent. */
function block(text: string): string[] {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `  ${line.replace(/\t/g, '  ').replace(HIDDEN, codePointOf)}`.trimEnd());
}

function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most).replace(/\p{Cs}$/u, '')}… (${text.length - most} more characters)`;
}
