import { on } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../contract/errors';
import { isToolError } from '../errors';
import { describeSymbol, functionSignature, listMembers, searchSymbols } from './describe';
import { codeDiagnostics } from './diagnostics';
import { createFiles } from './files';
import { createProjects, type TypeScript, type Workbench } from './project';
import type { CodeAnswer, CodeSettings, CodeQuestion, SymbolQuestion } from './service';
import { findCallers, findReferences, typeHierarchy } from './uses';

/** Entry of the process that answers questions about code. It runs TypeScript, and no code of the project. */
async function serve(): Promise<void> {
  process.once('disconnect', () => process.exit());
  // While TypeScript checks, this process handles no events, so a thread checks whether the worker still runs.
  new Worker(join(__dirname, 'watch.js'), { workerData: process.ppid }).unref();
  const messages = on(process, 'message');
  const { value: first } = await messages.next();
  const [setup] = first;
  const answer = createAnswers(setup);
  for await (const [question] of messages) process.send?.(answer(question));
}

function createAnswers({
  typescript: path,
  root,
  projects: configs,
}: CodeSettings): (question: CodeQuestion) => CodeAnswer {
  let look: (() => Workbench) | undefined;
  let shown = (text: string): string => text;
  const open = (): (() => Workbench) => {
    const typescript: TypeScript = createRequire(__filename)(path);
    const files = createFiles(root, dirname(path));
    shown = files.withoutFolders;
    return createProjects(typescript, files, configs);
  };
  return (question) => {
    try {
      look ??= open();
      return { text: shown(answer(look(), question)) };
    } catch (error) {
      const message = shown(errorMessage(error));
      return isToolError(error) ? { refused: message } : { broken: message.slice(0, 1000) };
    }
  };
}

const ABOUT_SYMBOL: Readonly<Record<SymbolQuestion, (bench: Workbench, args: { symbol: string }) => string>> =
  {
    describe_code_symbol: describeSymbol,
    function_signature: functionSignature,
    find_callers: findCallers,
    find_references: findReferences,
    list_members: listMembers,
    type_hierarchy: typeHierarchy,
  };

function answer(bench: Workbench, question: CodeQuestion): string {
  switch (question.name) {
    case 'search_code_symbols':
      return searchSymbols(bench, question.args);
    case 'code_diagnostics':
      return codeDiagnostics(bench, question.args);
    default:
      return ABOUT_SYMBOL[question.name](bench, question.args);
  }
}

void serve();
