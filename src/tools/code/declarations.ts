import type ts from 'typescript';
import type { TypeScript } from './project';

/** A declaration that a question can name. */
export interface Declared {
  /** The name of the declaration after the names of its containers: `Class.member`. */
  readonly path: string;
  readonly kind: string;
  readonly name: ts.Node;
  readonly source: ts.SourceFile;
  readonly isExported: boolean;
}

const indexes = new WeakMap<ts.SourceFile, readonly Declared[]>();

/** Top-level declarations of a file and their members, cached: TypeScript keeps the object of an unchanged file. */
export function declarationsOf(typescript: TypeScript, source: ts.SourceFile): readonly Declared[] {
  const known = indexes.get(source);
  if (known !== undefined) return known;
  const made: Declared[] = [];
  for (const statement of source.statements) addStatement({ typescript, source, made }, statement, '');
  indexes.set(source, made);
  return made;
}

interface Walk {
  typescript: TypeScript;
  source: ts.SourceFile;
  made: Declared[];
}

function addStatement(walk: Walk, statement: ts.Statement, within: string): void {
  const { typescript } = walk;
  const isExported = isExport(typescript, statement);
  if (typescript.isVariableStatement(statement)) {
    for (const one of statement.declarationList.declarations) addVariable(walk, one, { within, isExported });
    return;
  }
  if (typescript.isExportAssignment(statement))
    return addMembers(walk, statement.expression, within === '' ? 'default' : `${within}.default`);
  if (!isNamedStatement(typescript, statement)) return;
  const name = statement.name ?? statement.getFirstToken(walk.source);
  if (name === undefined) return;
  const path = add(walk, statement, { name, text: statement.name?.text ?? 'default', within, isExported });
  if (!typescript.isFunctionDeclaration(statement)) addMembers(walk, statement, path);
}

type NamedStatement =
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.EnumDeclaration
  | ts.ModuleDeclaration;

function isNamedStatement(typescript: TypeScript, node: ts.Node): node is NamedStatement {
  return (
    typescript.isFunctionDeclaration(node) ||
    typescript.isClassDeclaration(node) ||
    typescript.isInterfaceDeclaration(node) ||
    typescript.isTypeAliasDeclaration(node) ||
    typescript.isEnumDeclaration(node) ||
    typescript.isModuleDeclaration(node)
  );
}

function isExport(typescript: TypeScript, node: ts.Node): boolean {
  const modifiers = typescript.canHaveModifiers(node) ? typescript.getModifiers(node) : undefined;
  return (modifiers ?? []).some(({ kind }) => kind === typescript.SyntaxKind.ExportKeyword);
}

interface Place {
  name: ts.Node;
  text: string;
  within: string;
  isExported: boolean;
}

function add({ typescript, source, made }: Walk, node: ts.Node, place: Place): string {
  const path = place.within === '' ? place.text : `${place.within}.${place.text}`;
  made.push({ path, kind: kindOf(typescript, node), name: place.name, source, isExported: place.isExported });
  return path;
}

function addVariable(
  walk: Walk,
  { name, initializer }: ts.VariableDeclaration | ts.BindingElement,
  place: Pick<Place, 'within' | 'isExported'>,
): void {
  const { typescript } = walk;
  if (!typescript.isIdentifier(name)) {
    for (const one of name.elements) if (typescript.isBindingElement(one)) addVariable(walk, one, place);
    return;
  }
  const path = add(walk, name.parent, { ...place, name, text: name.text });
  if (initializer !== undefined) addMembers(walk, initializer, path);
}

/** Adds the members of classes, interfaces, enums, namespaces, type literals and object literals. */
function addMembers(walk: Walk, node: ts.Node, within: string): void {
  const { typescript, source } = walk;
  if (typescript.isTypeAliasDeclaration(node)) return addMembers(walk, node.type, within);
  if (
    typescript.isAsExpression(node) ||
    typescript.isSatisfiesExpression(node) ||
    typescript.isParenthesizedExpression(node)
  )
    return addMembers(walk, node.expression, within);
  if (typescript.isModuleDeclaration(node)) {
    const { body } = node;
    if (body !== undefined && typescript.isModuleBlock(body))
      for (const statement of body.statements) addStatement(walk, statement, within);
    if (body !== undefined && typescript.isModuleDeclaration(body))
      addMembers(
        walk,
        body,
        add(walk, body, { name: body.name, text: body.name.text, within, isExported: true }),
      );
    return;
  }
  for (const member of membersOf(typescript, node)) {
    const { name } = member;
    if (name === undefined || typescript.isComputedPropertyName(name)) continue;
    add(walk, member, { name, text: textOf(typescript, name, source), within, isExported: false });
  }
}

function textOf(
  typescript: TypeScript,
  name: ts.PropertyName | ts.BindingName,
  source: ts.SourceFile,
): string {
  return typescript.isStringLiteralLike(name) ? name.text : name.getText(source);
}

type Member = ts.Node & { name?: ts.PropertyName | ts.BindingName };

/** The members of a node, including constructor parameters that declare properties. */
function membersOf(typescript: TypeScript, node: ts.Node): readonly Member[] {
  if (typescript.isObjectLiteralExpression(node)) return node.properties;
  if (
    typescript.isInterfaceDeclaration(node) ||
    typescript.isTypeLiteralNode(node) ||
    typescript.isEnumDeclaration(node)
  )
    return node.members;
  if (!typescript.isClassLike(node)) return [];
  return node.members.flatMap((member): readonly Member[] =>
    typescript.isConstructorDeclaration(member)
      ? member.parameters.filter((one) => typescript.isParameterPropertyDeclaration(one, member))
      : [member],
  );
}

/** The kind of a declaration, in TypeScript's words. */
export function kindOf(typescript: TypeScript, node: ts.Node): string {
  if (typescript.isVariableDeclaration(node)) return kindOfVariable(typescript, node);
  if (typescript.isPropertyAssignment(node))
    return isFunctionValue(typescript, node.initializer) ? 'method' : 'property';
  return KINDS.find(([is]) => is(typescript, node))?.[1] ?? 'declaration';
}

const KINDS: readonly [is: (typescript: TypeScript, node: ts.Node) => boolean, kind: string][] = [
  [({ isFunctionDeclaration }, node) => isFunctionDeclaration(node), 'function'],
  [
    ({ isFunctionExpression, isArrowFunction }, node) => isFunctionExpression(node) || isArrowFunction(node),
    'function',
  ],
  [({ isClassLike }, node) => isClassLike(node), 'class'],
  [({ isInterfaceDeclaration }, node) => isInterfaceDeclaration(node), 'interface'],
  [({ isTypeAliasDeclaration }, node) => isTypeAliasDeclaration(node), 'type'],
  [({ isEnumDeclaration }, node) => isEnumDeclaration(node), 'enum'],
  [({ isEnumMember }, node) => isEnumMember(node), 'enum member'],
  [({ isModuleDeclaration }, node) => isModuleDeclaration(node), 'namespace'],
  [
    ({ isMethodDeclaration, isMethodSignature }, node) =>
      isMethodDeclaration(node) || isMethodSignature(node),
    'method',
  ],
  [({ isConstructorDeclaration }, node) => isConstructorDeclaration(node), 'constructor'],
  [({ isAccessor }, node) => isAccessor(node), 'accessor'],
  [(typescript, node) => typescript.isParameterPropertyDeclaration(node, node.parent), 'property'],
  [({ isParameter }, node) => isParameter(node), 'parameter'],
  [({ isTypeParameterDeclaration }, node) => isTypeParameterDeclaration(node), 'type parameter'],
  [({ isBindingElement }, node) => isBindingElement(node), 'variable'],
  [({ isSourceFile }, node) => isSourceFile(node), 'module'],
  [
    ({ isPropertyDeclaration, isPropertySignature, isShorthandPropertyAssignment }, node) =>
      isPropertyDeclaration(node) || isPropertySignature(node) || isShorthandPropertyAssignment(node),
    'property',
  ],
];

function kindOfVariable(typescript: TypeScript, { initializer, parent }: ts.VariableDeclaration): string {
  if (initializer !== undefined && isFunctionValue(typescript, initializer)) return 'function';
  const isConst = (parent.flags & typescript.NodeFlags.Const) !== 0;
  return isConst ? 'constant' : 'variable';
}

const isFunctionValue = ({ isArrowFunction, isFunctionExpression }: TypeScript, node: ts.Node): boolean =>
  isArrowFunction(node) || isFunctionExpression(node);
