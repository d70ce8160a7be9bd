import { describeTurn } from '../history/read';
import { callersIn, LIST_PAGE, OURS, quoted } from './list';
import { checkTurnId, mayBeId } from './start-turn';
import { UNKNOWN_AGENT } from '../authority/rules/permits';
import { CountersignError } from '../contract/errors';
import { Payloads } from '../history/decode/payloads';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { ask, turnNotFound } from '../history/server-errors';
import type { ClientContext } from './context';
import type { TurnSummary } from './types';

/** The most candidates that the error for an ambiguous prefix names. */
const CANDIDATES = 10;

/** The id of the one turn whose id starts with `prefix`. An exact id wins over longer ids. */
export async function findTurn(context: ClientContext, prefix: string): Promise<string> {
  // Text that looks like an option is a usage error, not a missing turn.
  if (prefix.startsWith('-')) checkTurnId(prefix);
  if (!mayBeId(prefix)) throw turnNotFound(JSON.stringify(prefix));
  // Visibility does not have a turn yet that was just started. The server finds such a turn by its exact id.
  if (await isTurn(context, prefix)) return prefix;
  const [found, ...others] = await ask(context, `looking for turn ${prefix}`, () =>
    idsWith(context, [prefix], CANDIDATES),
  );
  if (found === undefined) throw turnNotFound(prefix);
  if (others.length > 0) throw ambiguous(prefix, [found, ...others]);
  return found;
}

/** The agent of a turn, and the agents of the turns that led to it. */
export async function agentsOf(
  context: ClientContext,
  turn: string,
): Promise<Pick<TurnSummary, 'agent' | 'callers'>> {
  if (!mayBeId(turn)) throw turnNotFound(JSON.stringify(turn));
  const info = (await describeTurn(context, turn))?.workflowExecutionInfo;
  const { loadedDataConverter } = context.client.options;
  const owner = { type: 'workflow', namespace: context.namespace, workflowId: turn } as const;
  const payloads = new Payloads(loadedDataConverter, owner);
  const agent = payloads.core(info?.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]);
  const isTurn = info?.type?.name === WORKFLOWS.turn;
  if (!isTurn && typeof agent !== 'string') throw turnNotFound(turn);
  const callers = callersIn(await payloads.map(info?.memo?.fields), isTurn);
  return { agent: typeof agent === 'string' ? agent : UNKNOWN_AGENT, callers };
}

/** Whether there is a turn with exactly this id, open or closed, or another workflow with this id that gates calls. */
export async function isTurn(context: ClientContext, turn: string): Promise<boolean> {
  const { type, searchAttributes } = (await describeTurn(context, turn))?.workflowExecutionInfo ?? {};
  return type?.name === WORKFLOWS.turn || searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent] != null;
}

/**
 * Ids that start with one of these prefixes, sorted. If there are more than `most` ids, the list has exactly one
 * more than `most`.
 */
async function idsWith({ lister }: ClientContext, prefixes: readonly string[], most: number) {
  const starts = prefixes.map((prefix) => `WorkflowId STARTS_WITH ${quoted(prefix)}`);
  const query = `${OURS} AND (${starts.join(' OR ')})`;
  const ids = new Set<string>();
  for await (const { workflowId } of lister.workflow.list({ query, pageSize: LIST_PAGE })) {
    ids.add(workflowId);
    if (ids.size > most) break;
  }
  return [...ids].sort();
}

/** The most ids that are shortened. With more ids, the query would be long, and a screen would not show them. */
const SHORTENED = 50;
/**
 * A shortened id keeps at least this fraction of its characters. The ids of turns of the same time, or of one schedule
 * and day, share that part.
 */
const KEPT = 0.6;
const NEIGHBOURS = 500;

/**
 * For each id, the shortest beginning that no other turn's id has, for narrow screens. `findTurn` accepts it. An id
 * that is missing here has to be shown whole: there are too many ids to ask about, or too many that begin like it.
 */
export async function shortIds(
  context: ClientContext,
  turns: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const asked = [...new Set(turns)].filter(mayBeId);
  if (asked.length === 0 || asked.length > SHORTENED) return new Map();
  const heads = new Set(asked.map((id) => id.slice(0, keptOf(id))));
  const found = await ask(context, 'shortening ids', () => idsWith(context, [...heads], NEIGHBOURS));
  if (found.length > NEIGHBOURS) return new Map();
  const all = [...new Set([...found, ...asked])].sort();
  return new Map(asked.map((id) => [id, shortest(id, all)]));
}

function keptOf(id: string) {
  return Math.ceil(id.length * KEPT);
}

/**
 * The shortest beginning that only this id has. In a sorted list, an id shares the longest beginnings with its
 * neighbours.
 */
function shortest(id: string, sorted: readonly string[]) {
  const at = sorted.indexOf(id);
  const shared = [sorted[at - 1], sorted[at + 1]].map((other) => sharedStart(id, other ?? ''));
  return id.slice(0, Math.max(keptOf(id), ...shared.map((length) => length + 1)));
}

function sharedStart(a: string, b: string) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function ambiguous(prefix: string, candidates: readonly string[]) {
  const shown = candidates.slice(0, CANDIDATES);
  const more = candidates.length > shown.length ? ', …' : '';
  const message = `${prefix} is the beginning of more than one turn: ${shown.join(', ')}${more}`;
  return new CountersignError('usage', message, {
    hint: 'give more of the id',
    data: { candidates: shown },
  });
}
