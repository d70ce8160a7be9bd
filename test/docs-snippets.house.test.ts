import { join } from 'node:path';
import ts from 'typescript';
import { createProgram } from '../src/cli/program';
import { root } from './support/build';
import { pages, readPage, snippetsOf, type Snippet } from './support/docs';

/** Snippets are files of a program of their own, in which `countersign` is this source. */
const fileOf = ({ page, number }: Snippet): string =>
  join(root, 'test', `snippet-${page.replaceAll(/\W/g, '-')}-${number}.mts`);

const code = snippetsOf('ts');
let diagnostics: readonly ts.Diagnostic[];

beforeAll(() => {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.Node20,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    types: ['node'],
    paths: {
      countersign: [join(root, 'src', 'index.ts')],
      'countersign/workflow': [join(root, 'src', 'workflows', 'gate', 'index.ts')],
      'countersign/testing': [join(root, 'src', 'testing.ts')],
      'countersign/*': [join(root, 'src', '*', 'index.ts')],
    },
  };
  const texts = new Map(code.map((snippet) => [fileOf(snippet), snippet.text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  host.readFile = (file) => texts.get(file) ?? readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const text = texts.get(file);
    return text === undefined
      ? getSourceFile(file, target, ...rest)
      : ts.createSourceFile(file, text, target);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  diagnostics = [...texts.keys()].flatMap((file) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
  );
});

it.each(code)('$page, snippet $number, compiles', (snippet) => {
  const own = diagnostics.filter(({ file }) => file?.fileName === fileOf(snippet));
  expect(own.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
});

/** Commands named in a sentence; those of shell blocks are run by docs-commands. */
const named = pages.flatMap((page) =>
  [...readPage(page).matchAll(/`(?:npx )?countersign ([a-z]+(?:-[a-z]+)*)\b([^`\n]*)`/g)].map(
    ([, name = '', rest = '']) => ({
      page,
      name,
      rest,
    }),
  ),
);

it.each(named)('$page: the command line knows $name$rest', ({ name, rest }) => {
  const program = createProgram({ out: process.stdout, err: process.stderr, env: {} });
  const command = program.commands.find((one) => one.name() === name);
  expect(command).toBeDefined();
  const [, verb] = /^ ([a-z]+)/.exec(rest) ?? [];
  const named = command?.commands.find((one) => one.name() === verb) ?? command;
  const known = [program, command, named].flatMap((one) => one?.options ?? []);
  expect(known.map((option) => option.long)).toEqual(expect.arrayContaining(rest.match(/--[a-z-]+/g) ?? []));
});
