import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { root } from './support/build';

/** How the house may look at most. Lower a number where the code allows it; never raise one. */
const LIMITS = {
  mirroredPercent: 78,
  cycles: 0,
  /** Exported names with more than one home. */
  sharedNames: 11,
};

/** What comes before `.test.ts` says what a test starts. */
const LEVELS = ['', '.core', '.deep'];

/** Words that say nothing to a reader who is new here. A part of a name in camel case counts. */
const PRIVATE_WORDS = [
  ...['alarm', 'bell', 'deed', 'desk', 'door', 'doors', 'fate', 'gated', 'hands', 'keeper', 'lease'],
  ...['patience', 'quiet', 'said', 'told', 'touch'],
];

/** Names that have such a word still. */
const NAMES_LEFT: readonly string[] = [];

/** Features, by the words of their names. */
const FEATURES = [
  ...['audit', 'budget', 'burst', 'confirmation', 'conversation', 'escalate', 'escalation', 'fork', 'grant'],
  ...['holder', 'loop', 'mail', 'mcp', 'move', 'moved', 'passkey', 'pause', 'paused', 'push', 'repeat'],
  ...['replay', 'schedule', 'seal', 'signature', 'signer', 'slack', 'stats', 'steer', 'vote'],
];

/**
 * The files that a feature joins without a change of them, each with what it still names. A feature is a folder and one
 * entry in each list that it needs.
 */
const CORE: Readonly<Record<string, readonly string[]>> = {
  // The holder of a call's state is a part of its output.
  'src/activities/run-tool.ts': ['holder'],
  'src/cli/program.ts': [],
  'src/server/app.ts': [],
  // The pauses stand above every screen.
  'src/web/main.tsx': [],
  // A burst is a way to ask for the next steps.
  'src/workflows/agent-turn.ts': ['burst'],
};

const filesUnder = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .sort();

const sources = filesUnder('src').filter((name) => /\.tsx?$/.test(name));
const tests = new Set(filesUnder('test'));
const parsed = new Map(
  sources.map((name) => {
    const text = readFileSync(join(root, name), 'utf8');
    return [name, ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false)];
  }),
);

const statementsOf = (name: string): readonly ts.Statement[] => parsed.get(name)?.statements ?? [];

/** The file of ours that an import names, from where it stands. */
const resolveImport = (from: string, specifier: string): string | undefined =>
  ['.ts', '.tsx', '/index.ts']
    .map((end) => posix.join(posix.dirname(from), `${specifier}${end}`))
    .find((name) => parsed.has(name));

/** Everything that a file imports or exports again, types too, and what it loads only when it is needed. */
const specifiersOf = (node: ts.Node): string[] => {
  const found: string[] = [];
  const visit = (one: ts.Node): void => {
    if ((ts.isImportDeclaration(one) || ts.isExportDeclaration(one)) && one.moduleSpecifier !== undefined)
      found.push(textOf(one.moduleSpecifier));
    if (ts.isImportTypeNode(one) && ts.isLiteralTypeNode(one.argument))
      found.push(textOf(one.argument.literal));
    if (ts.isCallExpression(one) && one.expression.kind === ts.SyntaxKind.ImportKeyword)
      found.push(...one.arguments.map(textOf));
    ts.forEachChild(one, visit);
  };
  visit(node);
  return found.filter((specifier) => specifier.startsWith('.'));
};

const textOf = (node: ts.Node): string => (ts.isStringLiteralLike(node) ? node.text : '');

const imports = new Map(
  [...parsed].map(([name, file]) => [
    name,
    new Set(specifiersOf(file).flatMap((specifier) => resolveImport(name, specifier) ?? [])),
  ]),
);

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

const exportedNames = (name: string): string[] =>
  statementsOf(name)
    .filter(isExported)
    .flatMap((statement) => {
      if (ts.isVariableStatement(statement))
        return statement.declarationList.declarations.flatMap((one) =>
          ts.isIdentifier(one.name) ? one.name.text : [],
        );
      const isNamed =
        ts.isFunctionDeclaration(statement) ||
        ts.isClassDeclaration(statement) ||
        ts.isInterfaceDeclaration(statement) ||
        ts.isTypeAliasDeclaration(statement);
      return isNamed ? (statement.name?.text ?? []) : [];
    });

const hasExportedFunction = (name: string): boolean =>
  statementsOf(name)
    .filter(isExported)
    .some(
      (statement) =>
        ts.isFunctionDeclaration(statement) ||
        (ts.isVariableStatement(statement) &&
          statement.declarationList.declarations.some(
            ({ initializer }) =>
              initializer !== undefined &&
              (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer)),
          )),
    );

/** Groups of files of which each reaches every other by imports (Tarjan). */
const cyclesOf = (graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] => {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (name: string): number => {
    const index = order.size;
    order.set(name, index);
    lowest.set(name, index);
    stack.push(name);
    for (const next of graph.get(name) ?? []) {
      const low = order.has(next) ? (stack.includes(next) ? order.get(next) : undefined) : visit(next);
      lowest.set(name, Math.min(lowest.get(name) ?? index, low ?? index));
    }
    if (lowest.get(name) === index) groups.push(stack.splice(stack.indexOf(name)));
    return lowest.get(name) ?? index;
  };
  for (const name of graph.keys()) if (!order.has(name)) visit(name);
  return groups.filter((group) => group.length > 1).map((group) => group.sort());
};

describe('the check for cycles', () => {
  it.each([
    ['a chain', { a: ['b'], b: ['c'], c: [] }, []],
    ['two that import each other', { a: ['b'], b: ['a'] }, [['a', 'b']]],
    ['a loop behind a chain', { a: ['b'], b: ['c'], c: ['d'], d: ['b'] }, [['b', 'c', 'd']]],
    ['two ways to one file', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, []],
  ])('judges %s', (_case, graph: Record<string, string[]>, expected) => {
    expect(cyclesOf(new Map(Object.entries(graph).map(([name, to]) => [name, new Set(to)])))).toEqual(
      expected,
    );
  });
});

it('has no import cycle', () => {
  const found = cyclesOf(imports);
  expect({ found, isWithin: found.length <= LIMITS.cycles }).toEqual({ found, isWithin: true });
});

it('has at most two folder levels below src, three in web/screens', () => {
  const deep = sources.filter((name) => {
    const levels = name.split('/').length - 2;
    return levels > (name.startsWith('src/web/screens/') ? 3 : 2);
  });
  expect(deep).toEqual([]);
});

it(`has a test of the same path and name for ${LIMITS.mirroredPercent} % of the files with a function`, () => {
  const withFunction = sources.filter((name) => name.endsWith('.ts') && hasExportedFunction(name));
  const missing = withFunction.filter((name) => {
    const test = name.replace(/^src/, 'test').replace(/\.ts$/, '');
    return !LEVELS.some((level) => tests.has(`${test}${level}.test.ts`));
  });
  const share = 100 - (100 * missing.length) / withFunction.length;
  expect({ missing, isWithin: share >= LIMITS.mirroredPercent }).toEqual({ missing, isWithin: true });
});

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);

it.each(Object.entries(CORE))('%s names no feature', (file, left) => {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    // `list.push(one)` is no feature.
    const isCalled = ts.isPropertyAccessExpression(node) && node.name.text === 'push';
    if (ts.isIdentifier(node) || ts.isStringLiteralLike(node))
      for (const word of wordsOf(node.text)) found.add(word.replace(/s$/, ''));
    ts.forEachChild(node, (child) => (isCalled && child === node.name ? undefined : visit(child)));
  };
  const source = parsed.get(file);
  if (source === undefined) throw new Error(`${file} is not there`);
  visit(source);
  const named = FEATURES.filter((word) => found.has(word.replace(/s$/, '')));
  expect(named).toEqual(left);
});

it('exports no name with a private word', () => {
  const found = sources.flatMap((file) =>
    exportedNames(file)
      .filter((name) => wordsOf(name).some((word) => PRIVATE_WORDS.includes(word)))
      .filter((name) => !NAMES_LEFT.includes(name))
      .map((name) => `${file}#${name}`),
  );
  expect(found).toEqual([]);
});

it('gives an exported name one home', () => {
  const homes = new Map<string, string[]>();
  for (const file of sources)
    for (const name of new Set(exportedNames(file))) homes.set(name, [...(homes.get(name) ?? []), file]);
  const found = [...homes].filter(([, files]) => files.length > 1).sort();
  const lines = found.map(([name, files]) => `${name}: ${files.join(', ')}`);
  const advice =
    found.length > LIMITS.sharedNames
      ? `at most ${LIMITS.sharedNames} names may have two homes; rename yours by what it means, or import the other`
      : `fewer names have two homes: lower LIMITS.sharedNames to ${found.length}`;
  const isAtLimit = found.length === LIMITS.sharedNames;
  expect(isAtLimit ? [] : [advice, ...lines]).toEqual([]);
});
