import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import ts from 'typescript';
import { createProgram } from '../src/cli/program';
import { root } from './support/build';
import { readPage } from './support/docs';

/** Where each type of options is told: its section in docs/options.md, its file and its name. */
const TYPES: readonly [section: string, file: string, name: string][] = [
  ['defineConfig', 'tools/define-config', 'ConfigOptions'],
  ['traces of defineConfig', 'tools/define-config', 'TraceOptions'],
  ['log of defineConfig', 'tools/call-log', 'CallLogOptions'],
  ['mcpTools of defineConfig', 'tools/mcp/declare', 'McpToolSettings'],
  ['hookTools of defineConfig', 'tools/permit-tools', 'HookToolSettings'],
  ['mcpServers of defineConfig: a program', 'tools/mcp/declare', 'McpCommand'],
  ['mcpServers of defineConfig: an address', 'tools/mcp/declare', 'McpAddress'],
  ['oauth of mcpServers', 'tools/mcp/declare', 'McpOAuth'],
  ['hooks of defineConfig', 'tools/hooks', 'Hooks'],
  ['defineAgent', 'tools/define-agent', 'AgentOptions'],
  ['fallback of defineAgent', 'tools/define-agent', 'FallbackOptions'],
  ['findTools of defineAgent', 'tools/builtin/find-tools', 'FindToolsOptions'],
  ['agentTool', 'tools/builtin/agent-tool', 'AgentToolOptions'],
  ['defineTool', 'tools/define-tool', 'ToolOptions'],
  ['createWorkspaceTools', 'tools/workspace/index', 'WorkspaceOptions'],
  ['askUser', 'tools/builtin/ask-user', 'AskUserOptions'],
  ['createShellTools', 'tools/shell-tools', 'ShellOptions'],
  ['createEvalTools', 'tools/eval/index', 'EvalOptions'],
  ['sandbox', 'tools/sandbox/index', 'SandboxOptions'],
  ['limits of sandbox', 'tools/sandbox/index', 'SandboxLimits'],
  ['run of a sandbox', 'tools/sandbox/index', 'SandboxCommand'],
  ['createHttpTools', 'tools/http/index', 'HttpOptions'],
  ['createLispTools', 'tools/lisp/index', 'LispOptions'],
  ['openai, anthropic, google', 'models/providers', 'ProviderOptions'],
  ['openaiCompatible', 'models/openai-compatible', 'OpenAICompatibleOptions'],
  ['startWorker', 'worker', 'WorkerSettings'],
  ['createWorkerOptions', 'worker/options', 'CreateWorkerOptions'],
  ['bundleWorkflows', 'worker/bundle-workflows', 'BundleWorkflowsOptions'],
  ['connect', 'client/types', 'ConnectOptions'],
  ['start of a client', 'client/requests', 'StartRequest'],
  ['inbox of a client', 'client/requests', 'InboxQuery'],
  ['schedules.add of a client', 'client/types', 'ScheduleRequest'],
  ['list of a client', 'client/types', 'ListQuery'],
  ['turns of a client', 'client/types', 'TurnsQuery'],
  ['runs of a client', 'client/types', 'RunQuery'],
  ['fork of a client', 'client/types', 'ForkTurnRequest'],
  ['drain of a client', 'client/types', 'DrainOptions'],
  ['grants.plan of a client', 'authority/grants/client-types', 'GrantOptions'],
  ['session of a client', 'client/session/types', 'SessionOptions'],
  ['send of a session', 'client/session/types', 'SendRequest'],
  ['sessions of a client', 'client/session/types', 'SessionsQuery'],
  ['follow of a client', 'client/requests', 'FollowOptions'],
  ['encryption of startWorker and connect', 'encryption/keys', 'EncryptionOptions'],
  ['createExecutor', 'tools/executor', 'ExecutorDeps'],
  ['execute of an executor', 'tools/executor', 'BatchOptions'],
  ['CountersignPlugin', 'plugin/index', 'PluginOptions'],
  ['gate of CountersignPlugin', 'plugin/index', 'ActivityGate'],
  ['createGate', 'workflows/gate/request', 'GateOptions'],
  ['ask of a gate', 'workflows/gate/request', 'GateRequest'],
  ['run of a gate', 'workflows/gate/run-request', 'GateRunRequest'],
  ['gateTool', 'workflows/gate/gate', 'GateToolOptions'],
  ['startTestServer', 'testing', 'TestServerOptions'],
  ['startTestEnvironment', 'testing', 'TestEnvironmentOptions'],
  ['waitForRequest and waitForEnd', 'testing', 'WaitOptions'],
  ['approveNext and denyNext', 'testing', 'ApproveOptions'],
];

/** Types that stand as part of another one or in Temporal's own documentation, or that nobody writes by hand. */
const ELSEWHERE = ['OwnWorkerOptions', 'NextOptions', 'ForkRequest', 'ModelRequest'];

const source = (file: string): string => join(root, 'src', `${file}.ts`);
const ENTRIES = ['index', 'client/index', 'plugin/index', 'testing', 'workflows/gate/index'];

let checker: ts.TypeChecker;
let program: ts.Program;

beforeAll(() => {
  const files = [...ENTRIES, ...TYPES.map(([, file]) => file)].map(source);
  program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.Node20,
    moduleResolution: ts.ModuleResolutionKind.Node16,
  });
  checker = program.getTypeChecker();
});

const exportsOf = (file: string): ts.Symbol[] => {
  const module = program.getSourceFile(source(file));
  const symbol = module && checker.getSymbolAtLocation(module);
  return symbol === undefined ? [] : checker.getExportsOfModule(symbol);
};

/** The names of a type's options; those of an object within it after a dot. */
const optionsOf = (type: ts.Type, prefix = ''): string[] =>
  type.getProperties().flatMap((option) => {
    const [declared] = option.declarations ?? [];
    const inner = declared !== undefined && ts.isPropertySignature(declared) ? declared.type : undefined;
    return inner !== undefined && ts.isTypeLiteralNode(inner) && inner.members.every(ts.isPropertySignature)
      ? optionsOf(checker.getTypeFromTypeNode(inner), `${prefix}${option.name}.`)
      : [prefix + option.name];
  });

/** The names in the first column of every table of a section, and those that it names as told elsewhere. */
const rowsOf = (page: string, section: string): string[] => {
  const [, text = ''] = readPage(page).split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  return [...own.matchAll(/^(?:\| |Flags: |Also: )(`.*?`)(?:\s+\||$)/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.replaceAll('\\|', '|')),
  );
};

it.each(TYPES)('%s: each option is in the docs, and no other', (section, file, name) => {
  const type = exportsOf(file).find((symbol) => symbol.name === name);
  if (type === undefined) throw new Error(`${file} exports no ${name}`);
  const options = optionsOf(checker.getDeclaredTypeOfSymbol(type));
  expect(options.length).toBeGreaterThan(0);
  expect(rowsOf('docs/options.md', section).sort()).toEqual(options.sort());
});

it('tells every type of options that an entry exports', () => {
  const exported = ENTRIES.flatMap((entry) => exportsOf(entry).map(({ name }) => name));
  const options = exported.filter((name) => /^[A-Z].*(Options|Settings|Query|Request)$/.test(name));
  const known = [...TYPES.map(([, , name]) => name), ...ELSEWHERE];
  expect(options.filter((name) => !known.includes(name))).toEqual([]);
});

/** Each command with flags, by what is typed. */
const commandsOf = (command: Command, typed: string): [typed: string, flags: string[]][] =>
  command.commands.flatMap((one) => {
    const name = `${typed} ${one.name()}`;
    return [[name, flagsOf(one)], ...commandsOf(one, name)];
  });

const flagsOf = (command: Command): string[] =>
  command.options.map(({ flags }) => flags).filter((flags) => !flags.includes('--version'));

const cli = createProgram({ out: process.stdout, err: process.stderr, env: {} });
const commands: [string, string[]][] = [['Every command', flagsOf(cli)], ...commandsOf(cli, 'countersign')];

it.each(commands.filter(([, flags]) => flags.length > 0))(
  '%s: each flag is in the docs, and no other',
  (typed, flags) => {
    expect(rowsOf('docs/commands.md', typed).sort()).toEqual([...flags].sort());
  },
);

it('tells of no command that is none', () => {
  const told = [...readPage('docs/commands.md').matchAll(/^## (countersign .*)$/gm)].map(([, name]) => name);
  expect(told.filter((name) => !commands.some(([typed]) => typed === name))).toEqual([]);
});

/** All sources below a folder, joined. */
const textOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js)$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');

it('tells every variable of the environment that is read, and no other', () => {
  const told = rowsOf('docs/options.md', 'Environment');
  const ours = `${textOf(join(root, 'src'))}\n${textOf(join(root, 'bin'))}`;
  const temporals = textOf(join(root, 'node_modules', '@temporalio', 'envconfig', 'lib'));
  const read = [...ours.matchAll(/'((?:COUNTERSIGN|XDG)_[A-Z_]+[A-Z])'/g)].map(([, name = '']) => name);
  const byProcess = [...ours.matchAll(/env\['([A-Z_]+)'\]/g)].map(([, name = '']) => name);
  const common = ['HOME', 'PATH', 'TERM', 'TEMPORAL_PROFILE'];
  const missing = [...read, ...byProcess].filter((name) => !told.includes(name) && !common.includes(name));
  expect([...new Set(missing)]).toEqual([]);
  expect(told.filter((name) => !`${ours}\n${temporals}`.includes(`'${name}'`))).toEqual([]);
});
