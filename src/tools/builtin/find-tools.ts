import { z } from 'zod';
import { isObject, parseJson } from '../../contract/json';
import type { JsonSchema } from '../../contract/tool';
import type { TranscriptEntry } from '../../contract/transcript';
import { cutOutput } from '../cut-output';
import { defineTool } from '../define-tool';
import { type Registry, toFunctionSchema } from '../registry';
import { fitsPattern } from '../tool-names';
import type { FunctionSchema, Tool } from '../types';

/** The name of the tool with which a model looks for other tools. */
export const FIND_TOOLS = 'find_tools';

/**
 * Models choose worse among more than about thirty to fifty tools, and widely used model servers take 128 tools at
 * most.
 */
const OVER = 40;

/** The option `findTools` with every default filled in. Undefined stands for `findTools: false`. */
export interface FindSettings {
  readonly over: number;
  readonly core: readonly string[] | undefined;
}

const settings = z.strictObject({
  /** With more tools than this, the model is given `find_tools` and the core. @default 40 */
  over: z.int().min(1).max(100_000).default(OVER),
  /**
   * Tools that the model is always given, by name, with `*` for any letters.
   * @default the agent's own tools, unless these alone are more than `over`
   */
  core: z
    .array(z.string().regex(/^[a-z*][a-z0-9_*]*$/, 'must be names of tools, with * for any letters'))
    .readonly()
    .optional(),
});

/** Settings for agents whose model is given only a part of their tools and looks for the other tools itself. */
export interface FindToolsOptions extends z.input<typeof settings> {}

/** The schema of an agent's option `findTools`. */
export const findToolsSchema = z
  .union([z.boolean(), settings])
  .default(true)
  .transform((given): FindSettings | undefined => {
    if (given === false) return undefined;
    return given === true ? { over: OVER, core: undefined } : { core: undefined, ...given };
  });

/** The tools of an agent, and the tools that its model is given at each step. `core` undefined: all tools. */
interface Toolset {
  tools: readonly Tool[];
  core: ReadonlySet<string> | undefined;
}

/**
 * The tools of an agent. If there are too many tools for a model, `find_tools` is added.
 *
 * @throws Error if one of the given tools is also called `find_tools`.
 */
export function toToolset(tools: readonly Tool[], settings: FindSettings | undefined): Toolset {
  if (settings === undefined || tools.length <= settings.over) return { tools, core: undefined };
  if (tools.some(({ name }) => name === FIND_TOOLS))
    throw new Error(
      `it has ${tools.length} tools, so it gets \`${FIND_TOOLS}\`, and one of its own is called that: rename it, or set \`findTools: false\``,
    );
  const core = new Set(coreOf(tools, settings).map(({ name }) => name));
  const others = tools.filter(({ name }) => !core.has(name));
  return others.length === 0
    ? { tools, core: undefined }
    : { tools: [...tools, findTools(others)], core: core.add(FIND_TOOLS) };
}

function coreOf(tools: readonly Tool[], { over, core }: FindSettings): Tool[] {
  if (core !== undefined)
    return tools.filter(({ name }) => core.some((pattern) => fitsPattern(pattern, name)));
  const own = tools.filter(({ server }) => server === 'local');
  return own.length > over ? [] : own;
}

/** The fields of an agent that `offeredTools` reads. */
interface Offering {
  readonly registry: Registry;
  readonly core: ReadonlySet<string> | undefined;
  readonly findTools: FindSettings | undefined;
}

/**
 * The tools that a model is given for its next step: all tools, or the core and the newest tools that the conversation
 * has found or called, at most `over`. The found tools come last, in the order in which they were found, so that a
 * provider can still use its cache for the beginning of a request.
 */
export function offeredTools(
  { registry, core, findTools: settings }: Offering,
  entries: readonly TranscriptEntry[],
): FunctionSchema[] {
  if (core === undefined) return registry.functions();
  const first = registry.list().filter(({ name }) => core.has(name));
  const found = [...placesOfNames(entries)].flatMap(([name, place]) => {
    const tool = core.has(name) ? undefined : registry.get(name);
    return tool === undefined ? [] : [{ tool, place }];
  });
  return [...first, ...newest(found, settings?.over ?? OVER)].map(toFunctionSchema);
}

/** A tool that a conversation names, and the position of the last entry that names the tool. */
interface Found {
  tool: Tool;
  place: number;
}

/**
 * Keeps the newest tools in their order. If only some tools of an answer can be kept, the first ones are kept, because
 * they fit best.
 */
function newest(found: readonly Found[], most: number): Tool[] {
  const kept = new Set([...found].sort((one, other) => other.place - one.place).slice(0, most));
  return found.flatMap((one) => (kept.has(one) ? one.tool : []));
}

/** The names of found or called tools, in the order of their first entries, each with the place of its last entry. */
function placesOfNames(entries: readonly TranscriptEntry[]) {
  const last = new Map<string, number>();
  for (const [place, entry] of entries.entries()) for (const name of namesOf(entry)) last.set(name, place);
  return last;
}

function namesOf(entry: TranscriptEntry) {
  if (entry.kind === 'reply') return entry.calls.map(({ tool }) => tool);
  const isAnswer = entry.kind === 'result' && entry.tool === FIND_TOOLS && entry.success;
  return isAnswer ? namesIn(entry.content) : [];
}

/** The names in a result of `find_tools`. The transcript may have cut the result, so we read each complete line. */
function namesIn(content: string) {
  return content.split('\n').flatMap((line) => {
    const found = parseJson(line);
    return isObject(found) && typeof found['name'] === 'string' ? found['name'] : [];
  });
}

const parameters = z.object({
  query: z
    .string()
    .min(1)
    .max(500)
    .describe('A few words of what the tool should do, such as "list open issues"'),
  limit: z.int().min(1).max(20).default(5).describe('The most tools to answer with'),
});

/** Makes the tool `find_tools`. The tool reads only definitions that people allowed. */
function findTools(others: readonly Tool[]): Tool {
  let search: ((query: string) => Tool[]) | undefined;
  const tool = defineTool({
    name: FIND_TOOLS,
    description: 'Finds tools that you were not given yet.',
    parameters,
    safety: 'safe',
    effect: 'pure',
    local: true,
    timeout: '5s',
    handler: ({ query, limit }) => {
      search ??= createSearch(others);
      const found = search(query).slice(0, limit);
      if (found.length === 0) return `No tool fits "${query}". ${contentsOf(others)} Try other words.`;
      const head = 'You can call these tools from now on, and their full parameters are among your tools:';
      return [head, ...found.map(lineOf)].join('\n');
    },
  });
  // The description names the tools of one agent. The digest leaves the description out, because each agent has its own
  // `find_tools`.
  return Object.freeze({ ...tool, description: describe(others) });
}

function describe(others: readonly Tool[]) {
  return `Finds tools that you were not given yet. ${contentsOf(others)} Say in a few words what you want to do; the tools that it answers with are among your tools from then on.`;
}

const MOST_SERVERS = 30;

/** The number of tools for each server. The server names come from the config, never from a server. */
function contentsOf(others: readonly Tool[]) {
  const count = new Map<string, number>();
  for (const { server } of others) count.set(server, (count.get(server) ?? 0) + 1);
  const parts = [...count].slice(0, MOST_SERVERS).map(([server, number]) => `${server} (${number})`);
  const rest = count.size > MOST_SERVERS ? ' and others' : '';
  return `There are ${others.length} of them: ${parts.join(', ')}${rest}.`;
}

/** The most bytes of a description in one line. Twenty such lines fit into the output limit of a tool. */
const DESCRIPTION_BYTES = 1000;
const PARAMETERS_BYTES = 1000;

/** One tool as one line of JSON. `offeredTools` reads the name from this line. */
function lineOf({ name, description, schema }: Tool) {
  const about = cutOutput(description, DESCRIPTION_BYTES);
  return JSON.stringify({
    name,
    description: about,
    parameters: cutOutput(signature(schema), PARAMETERS_BYTES),
  });
}

function signature(schema: JsonSchema) {
  const { required } = schema;
  const needed = Array.isArray(required) ? required : [];
  return propertiesOf(schema)
    .map(([name, of]) => {
      const type = isObject(of) && typeof of['type'] === 'string' ? `: ${of['type']}` : '';
      return `${name}${needed.includes(name) ? '' : '?'}${type}`;
    })
    .join(', ');
}

function propertiesOf({ properties }: JsonSchema): [string, unknown][] {
  return isObject(properties) ? Object.entries(properties) : [];
}

/** A word in a tool's name counts more than a word in its description. */
const NAME_WEIGHT = 3;

/** The usual constants of BM25: how soon a repeated word stops adding to the score, and how much length counts. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * Ranks tools by the words of a query (Okapi BM25), the best first. Equal scores are ordered by name. Tools without any
 * of the words are left out.
 */
function createSearch(tools: readonly Tool[]): (query: string) => Tool[] {
  const documents = tools.map((tool) => ({ tool, ...countWords(wordsOf(tool)) }));
  const usual = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const holders = new Map<string, number>();
  for (const { counts } of documents)
    for (const word of counts.keys()) holders.set(word, (holders.get(word) ?? 0) + 1);
  const rarity = (word: string) => {
    const number = holders.get(word) ?? 0;
    return Math.log(1 + (documents.length - number + 0.5) / (number + 0.5));
  };
  return (query) => {
    const wanted = [...new Set(toWords(query))];
    const scored = documents.map(({ tool, counts, length }) => {
      const damping = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / usual);
      const score = wanted.reduce((sum, word) => {
        const count = counts.get(word) ?? 0;
        return sum + (rarity(word) * count * (SATURATION + 1)) / (count + damping);
      }, 0);
      return { tool, score };
    });
    return scored
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score || (one.tool.name < other.tool.name ? -1 : 1))
      .map(({ tool }) => tool);
  };
}

function wordsOf({ name, description, server, schema }: Tool) {
  const names = Array.from({ length: NAME_WEIGHT }, () => toWords(name)).flat();
  return [
    ...names,
    ...toWords(server),
    ...toWords(description),
    ...propertiesOf(schema).flatMap(([one]) => toWords(one)),
  ];
}

function countWords(words: readonly string[]) {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}

/** The words of a text in lower case. `listIssues` and `list_issues` give the same words; plurals become singular. */
function toWords(text: string) {
  const apart = text.normalize('NFKC').replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return (apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(toSingular);
}

function toSingular(word: string) {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
