import type ts from 'typescript';
import { counted, oneLine } from './describe';
import type { Project, Workbench } from './project';
import { lineAndColumn, sourceOf } from './symbols';

/** The most messages that are shown. The first messages of a broken project usually explain the later ones. */
const MOST_MESSAGES = 100;
/** The most lines of one message. A message may give a reason, the reason of that reason, and so on. */
const MOST_LINES = 12;
/** The most characters of one line of a message, because types that differ may be long. */
const LINE_CHARACTERS = 500;

/** `code_diagnostics`: what TypeScript finds wrong in one file, or in all projects with their configs. */
export function codeDiagnostics(bench: Workbench, { file }: { file?: string }): string {
  const found = file === undefined ? ofProjects(bench) : ofFile(sourceOf(bench, file));
  const messages = new Map(found.map((one) => [textOf(bench, one), one]));
  const what =
    file === undefined ? configsOf(bench) : bench.files.shown(sourceOf(bench, file).source.fileName);
  const head = `TypeScript ${bench.ts.version}, ${what}:`;
  const skipped = skippedOf(bench);
  if (messages.size === 0) return [`${head} no errors.`, ...skipped].join('\n');
  const texts = [...messages.keys()];
  const files = new Set(found.map((one) => one.file?.fileName)).size;
  return [
    `${head} ${counted(texts.length, 'message')} in ${counted(files, 'file')}.`,
    ...texts.slice(0, MOST_MESSAGES),
    ...(texts.length > MOST_MESSAGES
      ? [`(${texts.length - MOST_MESSAGES} more messages; ask for one file)`]
      : []),
    ...skipped,
  ].join('\n');
}

const configsOf = ({ projects, files }: Workbench): string =>
  projects.map(({ config }) => files.shown(config)).join(', ');

function ofFile({ project, source }: { project: Project; source: ts.SourceFile }): ts.Diagnostic[] {
  const { service } = project;
  const syntactic = service.getSyntacticDiagnostics(source.fileName);
  return [...syntactic, ...service.getSemanticDiagnostics(source.fileName)];
}

/** The messages of all projects, ordered by config and then by file name. */
function ofProjects({ projects }: Workbench): ts.Diagnostic[] {
  return projects.flatMap((project) => {
    const sources = [...project.sources].sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
    const settings = project.service.getCompilerOptionsDiagnostics();
    return [...project.problems, ...settings, ...sources.flatMap((source) => ofFile({ project, source }))];
  });
}

/** One message with the reasons that TypeScript gives, indented below it. */
function textOf(bench: Workbench, { file, start, code, category, messageText }: ts.Diagnostic): string {
  const { ts: typescript } = bench;
  const place = file === undefined ? '' : `${lineAndColumn(bench, file, start ?? 0)}: `;
  const kind = category === typescript.DiagnosticCategory.Error ? 'error' : 'warning';
  const [first = '', ...rest] = typescript.flattenDiagnosticMessageText(messageText, '\n').split('\n');
  const reasons = rest.slice(0, MOST_LINES).map((line) => {
    const [indent = ''] = /^ */.exec(line) ?? [];
    return `  ${indent}${oneLine(line.trim(), LINE_CHARACTERS)}`;
  });
  const more = rest.length > MOST_LINES ? [`  (${rest.length - MOST_LINES} more lines)`] : [];
  return [`${place}${kind} TS${code}: ${oneLine(first, LINE_CHARACTERS)}`, ...reasons, ...more].join('\n');
}

/** Lines about files that are too large to be read. Files that import them show errors. */
function skippedOf({ files }: Workbench): string[] {
  return files.tooLarge().map((path) => `(${files.shown(path)} has over 16 MiB and was not read)`);
}
