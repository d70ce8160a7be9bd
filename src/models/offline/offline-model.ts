import { defined } from '../../contract/defined';
import { type Clause, toClauses } from './words';
import {
  askAll,
  cut,
  describeChange,
  describeRead,
  EXAMPLES,
  lacking,
  type Plan,
  type PlannedCall,
  planReplace,
  type OfflineReport,
  type Round,
  sinceLastWords,
  type Toolbox,
} from './plan';
import { type Intent, parseClause, type ReplaceIntent, type SearchIntent } from './parse';
import type { JsonObject } from '../../contract/json';
import type { Model, ModelCall, ModelReply } from '../model';
import { streamWords } from '../scripted';

/**
 * A planner with fixed rules for the workspace, shell and Lisp packs. Every answer says that it is not a language model. It understands plain requests (list, read, search, replace, create, write, insert, delete, move, run,
 * describe, evaluate). Several requests are joined by "then", or each has its own line. It does not need a key or a
 * network. The same conversation always gives the same step, because the step depends only on the user's last message
 * and the results since. It asks only for tools that the agent has. If it does not understand every request, it asks
 * for no tool.
 *
 * @param options.id Shown in the timeline. @default 'offline'
 */
export function offlineModel(options: { id?: string } = {}): Model {
  return {
    id: options.id ?? 'offline',
    async generate(request) {
      const { messages, tools, signal } = request;
      signal.throwIfAborted();
      const { words, rounds } = sinceLastWords(messages);
      const step = nextStep(words, rounds, new Set(tools.map((tool) => tool.function.name)));
      if (!('answer' in step)) return toReply(step.calls, rounds.length + 1);
      await streamWords(step.answer, request);
      return toAnswer(step.answer);
    },
  };
}

function toAnswer(text: string): ModelReply {
  return { text, toolCalls: [], finishReason: 'stop' };
}

function toReply(calls: readonly PlannedCall[], step: number): ModelReply {
  const toolCalls = calls.map((call, index): ModelCall => {
    return { id: `offline_${step}_${index + 1}`, name: call.tool, arguments: JSON.stringify(call.arguments) };
  });
  return { text: '', toolCalls, finishReason: 'tool-calls' };
}

/** The next step: calls to ask for, or the answer. */
export type NextStep = { calls: PlannedCall[] } | { answer: string };

const OPENING = 'I am the offline planner: fixed rules, no language model.';

/**
 * The next step for a message, after the steps so far. Calls are asked for only when every request of the message is
 * understood.
 */
function nextStep(words: string, rounds: readonly Round[], tools: Toolbox): NextStep {
  const clauses = toClauses(words);
  const intents = clauses.map(parseClause);
  const unclear = clauses.filter((_, index) => intents[index] === undefined);
  if (clauses.length === 0 || unclear.length > 0) return { answer: explain(unclear, clauses.length) };
  return workThrough(
    intents.filter((intent) => intent !== undefined),
    rounds,
    { clauses, tools },
  );
}

function workThrough(
  intents: readonly Intent[],
  rounds: readonly Round[],
  { clauses, tools }: { clauses: readonly Clause[]; tools: Toolbox },
): NextStep {
  const left = [...rounds];
  const reports: OfflineReport[] = [];
  for (const intent of intents) {
    const state = advance(planOf(intent, tools), left);
    if ('calls' in state) return state;
    reports.push(state);
    if (state.failed) break;
  }
  return { answer: answerOf(reports, clauses.slice(reports.length)) };
}

function planOf(intent: Intent, tools: Toolbox): Plan {
  if (intent.kind === 'replace') return planReplace(intent, tools);
  return intent.kind === 'search' ? planSearch(intent, tools) : planSimple(intent, tools);
}

/** Runs a plan over the steps that are left, and removes the steps that the plan uses. */
function advance(plan: Plan, left: Round[]): { calls: PlannedCall[] } | OfflineReport {
  let state = plan.next();
  while (state.done !== true) {
    const round = left.shift();
    if (round === undefined) return { calls: state.value };
    state = plan.next(round);
  }
  return state.value;
}

function answerOf(reports: readonly OfflineReport[], untried: readonly Clause[]): string {
  const done = reports.map(
    ({ lines }, index) => (reports.length + untried.length > 1 ? `${index + 1}. ` : '') + lines.join('\n'),
  );
  const rest = untried.map(
    (clause) => `Not tried, because the request before it was not done: ${sourceOf(clause)}`,
  );
  return [OPENING, ...done, ...rest].join('\n\n');
}

function explain(unclear: readonly Clause[], count: number): string {
  const which = unclear.map((clause) => `I do not understand: ${sourceOf(clause)}`);
  const rest = count > unclear.length ? ['Nothing was done, as I do not understand all of it.'] : [];
  const examples = EXAMPLES.map((example) => `- ${example}`).join('\n');
  const known = `I understand requests like these, joined by "then" or on lines of their own:\n${examples}`;
  return [OPENING, ...which.slice(0, 5), ...rest, known].join('\n\n');
}

function sourceOf({ source, words }: Clause): string {
  return cut(source.slice(words[0]?.start, words.at(-1)?.end), 200);
}

type SimpleIntent = Exclude<Intent, ReplaceIntent | SearchIntent>;

/** A tool that can do a request, and the calls that it would get. */
interface Way {
  tool: string;
  calls: JsonObject[];
}

/** A request that is one step: the calls do not depend on each other. */
function* planSimple(intent: SimpleIntent, tools: Toolbox): Plan {
  const ways = waysOf(intent);
  const way = ways.find(({ tool }) => tools.has(tool));
  if (way === undefined) return lacking(...ways.map(({ tool }) => tool));
  const calls: PlannedCall[] = way.calls.map((args) => ({ tool: way.tool, arguments: args }));
  const outcomes = yield* askAll(calls);
  const describe = READS.includes(intent.kind) ? describeRead : describeChange;
  const lines = calls.map((call, index) => describe(call, outcomes[index]));
  return {
    lines,
    failed: outcomes.every((outcome) => outcome === undefined || outcome.failure !== undefined),
  };
}

const READS: readonly Intent['kind'][] = ['list', 'read', 'info', 'run', 'describe', 'evaluate'];

/** The ways to do a request, best first. */
function waysOf(intent: SimpleIntent): Way[] {
  switch (intent.kind) {
    case 'list':
      return listWays(intent);
    case 'read':
      return [{ tool: 'read_file', calls: intent.paths.map((path) => ({ path })) }];
    case 'info':
      return [{ tool: 'get_file_info', calls: [{ path: intent.path }] }];
    case 'create':
      return createWays(intent);
    case 'insert':
      return [
        { tool: 'insert_at_line', calls: [{ path: intent.path, line: intent.line, text: intent.text }] },
      ];
    case 'delete':
      return [{ tool: 'delete_file', calls: intent.paths.map((path) => ({ path })) }];
    case 'move':
      return [{ tool: 'move_file', calls: [{ from: intent.from, to: intent.to }] }];
    case 'run':
      return [{ tool: 'run_command', calls: [{ argv: intent.argv }] }];
    case 'describe':
      return [{ tool: 'describe_symbol', calls: [{ symbol: intent.symbol }] }];
    case 'evaluate':
      return [{ tool: 'eval_form', calls: [{ form: intent.form }] }];
  }
}

function listWays({ path, tree }: Extract<Intent, { kind: 'list' }>): Way[] {
  const names = tree ? ['directory_tree', 'list_directory'] : ['list_directory', 'directory_tree'];
  return names.map((tool) => ({ tool, calls: [{ path }] }));
}

/** `create` never overwrites, so `write_file` cannot take its place. */
function createWays({ path, content, overwrite }: Extract<Intent, { kind: 'create' }>): Way[] {
  return [{ tool: overwrite ? 'write_file' : 'create_file', calls: [{ path, content }] }];
}

/** Searches below a folder. If the search fails the path may be a file, so then only that file is searched. */
function* planSearch({ query, path }: SearchIntent, tools: Toolbox): Plan {
  if (!tools.has('search_files')) return lacking('search_files');
  const call = { tool: 'search_files', arguments: { query, ...defined({ path }) } };
  const [outcome] = yield [call];
  if (path === undefined || outcome?.failure !== 'tool') {
    return {
      lines: [describeRead(call, outcome)],
      failed: outcome === undefined || outcome.failure !== undefined,
    };
  }
  const inFile = { tool: 'search_files', arguments: { query, glob: path } };
  const [second] = yield [inFile];
  return {
    lines: [describeRead(inFile, second)],
    failed: second === undefined || second.failure !== undefined,
  };
}
