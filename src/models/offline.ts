import { isJsonObject, isObject, type JsonObject, parseJson } from '../contract/json';
import { TOOL_ERROR_CODES, type ToolErrorCode } from '../contract/result';
import type { Model, ModelMessage, ModelRequest } from './model';
import { streamWords } from './scripted';

/**
 * A planner with fixed rules, to try an agent without a key or a network. Every answer says that it is not a language
 * model. `call <tool> {json}` calls any tool of the agent; a few plain words call the tools of the packs. Several
 * requests are joined by "then", or each has its own line. If it does not understand every request, it asks for no
 * tool. The same conversation always gives the same step: the step depends only on the user's last message and the
 * results since.
 *
 * @param options.id Shown in the timeline. @default 'offline'
 */
export function offlineModel(options: { id?: string } = {}): Model {
  return {
    id: options.id ?? 'offline',
    async generate(request) {
      request.signal.throwIfAborted();
      const { words, outcomes } = sinceLastWords(request.messages);
      const step = nextStep(words, outcomes, request.tools);
      if (typeof step !== 'string') {
        const { tool: name, arguments: args } = step;
        const toolCalls = [{ id: `offline_${outcomes.length + 1}`, name, arguments: JSON.stringify(args) }];
        return { text: '', toolCalls, finishReason: 'tool-calls' };
      }
      const text = `I am the offline planner: fixed rules, no language model.\n\n${step}`;
      await streamWords(text, request);
      return { text, toolCalls: [], finishReason: 'stop' };
    },
  };
}

type Tools = ModelRequest['tools'];

interface PlannedCall {
  tool: string;
  arguments: JsonObject;
}

/** A request that it understands. */
interface Form {
  tool: string;
  example: string;
  pattern: RegExp;
  /** The calls for the texts that the pattern found, one after the other. */
  plan(texts: readonly string[]): PlannedCall[] | undefined;
}

/** One word, or a text in quotes. */
const ONE = '("[^"]*"|\'[^\']*\'|`[^`]*`|\\S+)';
const REST = '([^]+)';

const form = (
  example: string,
  tool: string,
  pattern: string,
  argument: (...texts: string[]) => JsonObject,
): Form => {
  return {
    tool,
    example,
    pattern: new RegExp(`^${pattern}$`, 'i'),
    plan: (texts) => [{ tool, arguments: argument(...texts.map(unquoted)) }],
  };
};

const FORMS: readonly Form[] = [
  form('read README.md', 'read_file', `read ${ONE}`, (path = '') => ({ path })),
  form('search for "colour"', 'search_files', `search for ${ONE}`, (query = '') => ({ query })),
  form(
    'create notes.txt with content "hello"',
    'create_file',
    `create ${ONE} with content ${REST}`,
    (path = '', content = '') => ({ path, content }),
  ),
  {
    tool: 'edit_file',
    example: 'replace "colour" with "color" in README.md',
    pattern: new RegExp(`^replace ${ONE} with ${ONE} in ${ONE}$`, 'i'),
    plan(texts) {
      const [old_text = '', new_text = '', path = ''] = texts.map(unquoted);
      const edits = [{ old_text, new_text }];
      const calls: PlannedCall[] = [
        { tool: 'read_file', arguments: { path } },
        { tool: 'edit_file', arguments: { path, edits, replace_all: true } },
      ];
      return calls;
    },
  },
  {
    tool: 'run_command',
    example: 'run npm test',
    pattern: new RegExp(`^run ${REST}$`, 'i'),
    plan([command = '']) {
      const argv = command.match(WORD) ?? [];
      // There is no shell, which these would need.
      if (argv.some((word) => /^(?:\|\|?|&&?|;|[12]?>>?|<)$|^[^"'`]*;$/.test(word))) return undefined;
      return [{ tool: 'run_command', arguments: { argv: argv.map(unquoted) } }];
    },
  },
  form(
    'what does the function defun do',
    'describe_symbol',
    `what (?:is|does) (?:the )?(?:function |macro |variable )?${ONE}(?: do)?\\??`,
    (symbol = '') => ({ symbol }),
  ),
  form('evaluate (+ 1 2)', 'eval_form', `evaluate ${REST}`, (text = '') => ({ form: text })),
];

const CALL = /^call (\S+)(?:\s+(\{[^]*\}))?$/i;

/** The calls of a request. Undefined if it is not understood. */
function planOf(request: string): PlannedCall[] | undefined {
  const [, tool, json = '{}'] = CALL.exec(request) ?? [];
  const args = parseJson(json);
  if (tool !== undefined) return isJsonObject(args) ? [{ tool, arguments: args }] : undefined;
  for (const { pattern, plan } of FORMS) {
    const found = pattern.exec(request);
    if (found !== null) return plan(found.slice(1));
  }
  return undefined;
}

/** A word, with the texts in quotes that it holds, or a line end. */
const WORD = /\n|'[^']*'|`[^`]*`|(?:"(?:[^"\\]|\\[^])*"|\\\S|\S)+/g;

/** Splits a message into requests: at line ends and at a `then` outside of quotes. */
function requestsOf(words: string) {
  const requests: string[] = [];
  let start = 0;
  for (const { 0: word, index } of words.matchAll(WORD)) {
    if (word !== '\n' && word.toLowerCase() !== 'then') continue;
    requests.push(words.slice(start, index));
    start = index + word.length;
  }
  return [...requests, words.slice(start)]
    .map((request) => request.trim().replace(/,$/, ''))
    .filter((request) => request !== '');
}

function unquoted(text: string) {
  return /^(["'`])([^]*)\1$/.exec(text)?.[2] ?? text;
}

/** The next call for a message, after the outcomes so far, or the answer. */
function nextStep(words: string, outcomes: readonly Outcome[], tools: Tools): PlannedCall | string {
  const requests = requestsOf(words).map((source) => ({ source, calls: planOf(source) }));
  const unclear = requests.filter(({ calls }) => calls === undefined);
  if (requests.length === 0 || unclear.length > 0) {
    return explain(
      unclear.map(({ source }) => source),
      tools,
    );
  }
  const left = [...outcomes];
  const told: string[] = [];
  for (const [at, { calls = [] }] of requests.entries()) {
    for (const [index, call] of calls.entries()) {
      const isKnown = tools.some((tool) => tool.function.name === call.tool);
      const outcome = left.shift();
      if (isKnown && outcome === undefined) return call;
      const isDone = outcome !== undefined && outcome.failure === undefined;
      // If all calls of a request are done, the answer names only the last one.
      if (isDone && index < calls.length - 1) continue;
      told.push(
        outcome === undefined ? `Not done: this agent has no tool ${call.tool}.` : describe(call, outcome),
      );
      if (isDone) continue;
      const untried = requests.slice(at + 1).map(({ source }) => `- ${cut(source, 200)}`);
      if (untried.length > 0)
        told.push(['Not tried, as the request before was not done:', ...untried].join('\n'));
      return told.join('\n\n');
    }
  }
  return told.join('\n\n');
}

/** What it understands: only requests that the tools of the agent can do. */
function explain(unclear: readonly string[], tools: Tools) {
  const names = tools.map((tool) => tool.function.name);
  const forms = FORMS.filter(({ tool }) => names.includes(tool));
  const own = tools.find((tool) => !FORMS.some((known) => known.tool === tool.function.name)) ?? tools[0];
  const call = own === undefined ? [] : [`call ${own.function.name} ${exampleOf(own.function.parameters)}`];
  const known = [...forms.map(({ example }) => example), ...call].map((example) => `- ${example}`);
  const rest =
    known.length === 0
      ? 'This agent has no tools.'
      : ['I understand requests like these, joined by "then" or on lines of their own:', ...known].join('\n');
  const which = unclear.slice(0, 5).map((source) => `I do not understand: ${cut(source, 200)}`);
  return [...which, ...(unclear.length > 0 ? ['Nothing was done.'] : []), rest].join('\n\n');
}

const SAMPLES: Readonly<Record<string, JsonObject[string]>> = {
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
};

/** Arguments in the form of a schema: all that are required. */
function exampleOf({ properties, required }: JsonObject) {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const entries = names.map((name) => {
    const schema = isObject(properties) ? properties[name] : undefined;
    const type = isObject(schema) && typeof schema['type'] === 'string' ? schema['type'] : '';
    return [name, SAMPLES[type] ?? '…'];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** The outcome of one call. */
interface Outcome {
  /** The tool's output, or why it failed; without the note. */
  text: string;
  /** Absent: the call succeeded. */
  failure?: ToolErrorCode;
  /** The reason that a person gave, or a note about the change that a person made. */
  note?: string;
}

/** The user's last message, and the outcomes since. */
function sinceLastWords(messages: readonly ModelMessage[]) {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  const outcomes = messages
    .slice(start + 1)
    .flatMap((message) => (message.role === 'tool' ? toOutcome(message.content) : []));
  return { words: messages[start]?.content ?? '', outcomes };
}

/** The beginning of a person's note. An empty line and the result follow the note. */
const NOTE = /^\[[^\n]{1,5000}? (?:changed the arguments of this call before it ran|approved this call)\./;
const ERROR = /^Error \[([a-z_]{1,30})\]: /;

function toOutcome(content: string): Outcome {
  const end = NOTE.test(content) ? content.indexOf(']\n\n') : -1;
  const note = end === -1 ? {} : { note: content.slice(1, end) };
  const text = end === -1 ? content : content.slice(end + 3);
  const code = ERROR.exec(text)?.[1];
  const failure = TOOL_ERROR_CODES.find((known) => known === code);
  if (failure === undefined) return { text, ...note };
  return { text: text.slice(`Error [${failure}]: `.length), failure, ...note };
}

/** The most characters of an output that an answer shows. The timeline shows the whole output. */
const SHOWN_CHARACTERS = 4000;

const FAILURES: Partial<Record<ToolErrorCode, string>> = {
  denied: 'denied by a person',
  expired: 'nobody decided or started it in time',
  conflict: 'the file is not what was approved',
  refused: 'refused by policy',
  in_doubt: 'nobody knows whether it happened',
  timeout: 'it ran out of time',
};

function describe({ tool, arguments: args }: PlannedCall, { text, failure, note }: Outcome) {
  const { path, argv } = args;
  const subject = Array.isArray(argv) ? argv.join(' ') : path;
  const name = typeof subject === 'string' ? `${tool} ${cut(subject, 200)}` : tool;
  const how = failure === undefined ? 'done' : `not done, ${FAILURES[failure] ?? failure}`;
  return [`${name}: ${how}.`, ...[note ?? '', cut(text, SHOWN_CHARACTERS)].filter((part) => part !== '')]
    .join('\n')
    .replaceAll('\n', '\n  ');
}

function cut(text: string, limit: number) {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length - limit} characters more)`;
}
