import { describeTurn } from '../history/read';
import { quoted } from './list';
import { checkTurnId, mayBeId } from './start-turn';
import { CountersignError } from '../contract/errors';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { ask, turnNotFound } from '../history/server-errors';
import type { ClientContext } from './context';

/** How many candidates the error for an ambiguous prefix names. */
const CANDIDATES = 10;

/** The id of the one turn whose id starts with `prefix`; an exact id wins over longer ones. */
export async function findTurn(context: ClientContext, prefix: string): Promise<string> {
  // Text that looks like an option is a usage error, not a missing turn.
  if (prefix.startsWith('-')) checkTurnId(prefix);
  if (!mayBeId(prefix)) throw turnNotFound(JSON.stringify(prefix));
  // Visibility lags behind a turn that was just started; asking for the exact id does not.
  if (await isTurn(context, prefix)) return prefix;
  const [found, ...others] = await startingWith(context, prefix);
  if (found === undefined) throw turnNotFound(prefix);
  if (others.length > 0) throw ambiguous(prefix, [found, ...others]);
  return found;
}

/** Whether there is a turn of exactly this id, open or closed, or another workflow that gates calls. */
export async function isTurn(context: ClientContext, turn: string): Promise<boolean> {
  const { type, searchAttributes } = (await describeTurn(context, turn))?.workflowExecutionInfo ?? {};
  return type?.name === WORKFLOWS.turn || searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent] != null;
}

async function startingWith(context: ClientContext, prefix: string): Promise<string[]> {
  const ours = `(WorkflowType = '${WORKFLOWS.turn}' OR ${SEARCH_ATTRIBUTES.agent} IS NOT NULL)`;
  const query = `${ours} AND WorkflowId STARTS_WITH ${quoted(prefix)}`;
  return ask(context, `looking for turn ${prefix}`, async () => {
    const ids = new Set<string>();
    for await (const { workflowId } of context.lister.workflow.list({ query, pageSize: 100 })) {
      ids.add(workflowId);
      if (ids.size > CANDIDATES) break;
    }
    return [...ids].sort();
  });
}

function ambiguous(prefix: string, candidates: readonly string[]): CountersignError {
  const shown = candidates.slice(0, CANDIDATES);
  const more = candidates.length > shown.length ? ', …' : '';
  const message = `${prefix} is the beginning of more than one turn: ${shown.join(', ')}${more}`;
  return new CountersignError('ambiguous_id', message, {
    hint: 'give more of the id',
    data: { candidates: shown },
  });
}
