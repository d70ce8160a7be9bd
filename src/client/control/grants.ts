import { setTimeout as delay } from 'node:timers/promises';
import type { ConfirmAsked } from '../../contract/control/confirmations';
import { isGrantsSeen } from '../../contract/control/grant-forms';
import type {
  GrantAsked,
  GrantRefused,
  GrantSeen,
  GrantsSeen,
  RevokeAsked,
  Revoked,
} from '../../contract/control/grants';
import { CountersignError } from '../../contract/errors';
import { TIMES } from '../../contract/limits';
import { CONTROL, QUERIES, UPDATES } from '../../contract/names';
import { ask, isNotFound, isSilence, toCountersignError } from '../../history/server-errors';
import type { ClientContext } from '../context';
import { readTimeline } from '../../history/read';
import { viewOf } from '../../history/view';
import { listTurnsPage } from '../list';
import type { Countersign } from '../types';
import type { Grants } from './types';
import { startControl, tellControl, unavailable } from './pauses';
import { coverageOf, planGrant } from './plan-grant';

/** The grants of a namespace. */
export function makeGrants(context: ClientContext): Grants {
  const timeline = (turn: string) => readTimeline(context.source, turn);
  const turns: Countersign['turns'] = (query = {}) => listTurnsPage(context, query);
  return {
    plan: async (turn, callId, options) => planGrant(viewOf(await timeline(turn)), callId, options),
    coverage: (terms) => coverageOf({ timeline, turns }, terms),
    give: (asked) => giveGrant(context, asked),
    confirm: (asked) => confirmGrant(context, asked),
    list: () => listGrants(context),
    revoke: (asked) => revokeGrants(context, asked),
  };
}

/** Gives a grant, and resolves once every worker that looks for a grant finds it. */
async function giveGrant(context: ClientContext, asked: GrantAsked): Promise<GrantSeen> {
  await ask(context, 'starting the workflow that holds grants', () =>
    startControl(context.client, 'unless closed'),
  );
  const given = await update<GrantSeen, GrantAsked>(context, UPDATES.grant, asked);
  // After this time, no worker uses what it read before.
  await delay(TIMES.pausesKnown);
  return given;
}

/**
 * Confirms a grant. Workers keep an earlier answer about grants for some time, so this waits until that time is over.
 */
async function confirmGrant(context: ClientContext, asked: ConfirmAsked): Promise<GrantSeen> {
  const confirmed = await update<GrantSeen, ConfirmAsked>(context, UPDATES.confirm, asked);
  await delay(TIMES.pausesKnown);
  return confirmed;
}

/** Takes back a grant, or all grants. Once this resolves, no call claims a use any more. */
function revokeGrants(context: ClientContext, asked: RevokeAsked): Promise<Revoked> {
  return update<Revoked, RevokeAsked>(context, UPDATES.revoke, asked);
}

/** All grants. Empty if no worker has started the workflow that holds them. */
async function listGrants(context: ClientContext): Promise<GrantsSeen> {
  const found = await queryGrants(context);
  if (found === undefined) return { grants: [] };
  if (isGrantsSeen(found)) return found;
  throw new CountersignError('server_failed', 'the answer to which grants there are cannot be read', {
    hint: 'are the workers of this version? countersign doctor shows it',
  });
}

/**
 * Asks the workflow that holds the grants. Undefined if no worker has started it. After silence it asks once more,
 * because the answer to a question changes nothing and may have been lost with a task.
 */
async function queryGrants({ client }: ClientContext): Promise<unknown> {
  const ask = () =>
    client.withDeadline(Date.now() + TIMES.updateAnswer / 2, () =>
      client.workflow.getHandle(CONTROL.workflowId).query<unknown, []>(QUERIES.grants),
    );
  try {
    return await ask().catch((error: unknown) => {
      if (isSilence(error)) return ask();
      throw error;
    });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (isSilence(error)) throw unavailable('no worker answered, so it is not known which grants there are');
    throw toCountersignError(error, 'asking which grants there are');
  }
}

function update<R, A>(context: ClientContext, name: string, asked: A): Promise<R> {
  return tellControl<R, A, GrantRefused['code']>(
    context,
    { name, asked },
    {
      hints: HINTS,
      doing: DOING[name] ?? name,
    },
  );
}

const DOING: Readonly<Record<string, string>> = {
  [UPDATES.grant]: 'giving a grant',
  [UPDATES.confirm]: 'confirming a grant',
  [UPDATES.revoke]: 'revoking a grant',
};

const HINTS: Readonly<Record<GrantRefused['code'], string>> = {
  malformed: 'see countersign grants --help',
  grant_refused: 'see docs/grants.md',
  grants_full: 'revoke those that are not needed',
  grant_not_found: 'countersign grants list shows what there is',
  grant_void: 'see docs/grants.md',
};
