import { CountersignError } from '../contract/errors';
import { SEARCH_ATTRIBUTES, WORKFLOWS } from '../contract/names';
import { STATUS, statusOf, toCountersignError, turnNotFound } from '../history/server-errors';
import { ask, type Desk } from './desk';
import { isTurnId } from './turn-id';

/** How many candidates an ambiguous prefix is told with. */
const CANDIDATES = 10;

/** The id of the one turn whose id starts with `prefix`; an exact id wins over longer ones. */
export async function findTurn(desk: Desk, prefix: string): Promise<string> {
  if (!isTurnId(prefix)) throw turnNotFound(JSON.stringify(prefix));
  // Visibility lags behind a turn that was just started; asking for the exact id does not.
  if (await isTurn(desk, prefix)) return prefix;
  const [found, ...others] = await startingWith(desk, prefix);
  if (found === undefined) throw turnNotFound(prefix);
  if (others.length > 0) throw ambiguous(prefix, [found, ...others]);
  return found;
}

/** Whether there is a turn of exactly this id, open or closed, or somebody's own workflow that gates calls. */
export async function isTurn(desk: Desk, turn: string): Promise<boolean> {
  const { type, searchAttributes } = (await describeTurn(desk, turn))?.workflowExecutionInfo ?? {};
  return type?.name === WORKFLOWS.turn || searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent] != null;
}

/** Everything the server says of a turn's current run; undefined where there is no such workflow. */
export async function describeTurn(desk: Desk, turn: string) {
  const { connection, namespace } = desk;
  const describe = () =>
    connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: turn } });
  try {
    return await connection.withDeadline(Date.now() + 10_000, describe);
  } catch (error) {
    if (statusOf(error) === STATUS.notFound) return undefined;
    throw toCountersignError(error, `looking for turn ${turn}`);
  }
}

async function startingWith(desk: Desk, prefix: string): Promise<string[]> {
  const ours = `(WorkflowType = '${WORKFLOWS.turn}' OR ${SEARCH_ATTRIBUTES.agent} IS NOT NULL)`;
  const query = `${ours} AND WorkflowId STARTS_WITH '${prefix}'`;
  return ask(desk, `looking for turn ${prefix}`, async () => {
    const ids = new Set<string>();
    for await (const { workflowId } of desk.lister.workflow.list({ query, pageSize: 100 })) {
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
