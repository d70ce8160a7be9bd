import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { type ConfirmAsked, termsDigest, termsIn } from './confirmations';
import { isGrantAsked } from './grant-schemas';
import {
  type GrantAsked,
  type GrantRefused,
  type GrantSeen,
  type GrantsSeen,
  noGrantText,
  type RevokeAsked,
  type Revoked,
  whyEnded,
} from './grant';
import { CountersignError } from '../../contract/errors';
import { LIMITS, TIMES } from '../../contract/limits';
import { grantWorkflowId, SIGNALS, UPDATES, WORKFLOWS } from '../../contract/names';
import { type ListedGrant, openGrants, readGrant } from './client-list';
import { ask } from '../../history/server-errors';
import type { ClientContext } from '../../client/context';
import { readTimeline } from '../../history/read';
import { readFirst } from '../../history/read-run';
import { viewOf } from '../../history/view';
import type { Grants } from './client-types';
import type { TurnsQuery } from '../../client/types';
import { listTurnsPage } from '../../client/list';
import { planGrant, coverageOf } from './client-plan';
import { ON_CONTROL_QUEUE, unavailable, refusalIn, tellControl } from '../pauses/client';

/** The grants of a namespace. */
export function makeGrants(context: ClientContext): Grants {
  const timeline = (turn: string) => readTimeline(context.source, turn);
  const turns = (query: TurnsQuery) => listTurnsPage(context, query);
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
  const { client } = context;
  const open = await listOpen(context);
  if (open.length >= LIMITS.grants && open.every(({ id }) => id !== asked.id))
    throw refused('full', `there are ${LIMITS.grants} grants already, which is the most that are read`);
  const handle = await ask(context, 'giving a grant', async () => {
    try {
      return await client.workflow.start(WORKFLOWS.grant, {
        workflowId: grantWorkflowId(asked.id),
        ...ON_CONTROL_QUEUE,
        args: [asked],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return client.workflow.getHandle(grantWorkflowId(asked.id));
    }
  });
  const until = performance.now() + TIMES.updateAnswer;
  for (;;) {
    const { status } = await ask(context, 'giving a grant', () => handle.describe());
    if (status.name !== 'RUNNING') throw await whyNotGiven(handle.result());
    const found = (await listOpen(context)).find(({ id }) => id === asked.id);
    if (found !== undefined && termsDigest(found) !== termsDigest(asked))
      throw refused('refused', 'there is another grant of this id');
    if (found !== undefined) {
      await untilRead();
      return seenOf(context, found);
    }
    if (performance.now() > until)
      throw unavailable(
        'no worker took the grant yet, or the server does not list it; it holds once both did',
      );
    await delay(AGAIN_MS);
  }
}

/** The time between two looks at a grant that was just given, in milliseconds. */
const AGAIN_MS = 100;

/** The reason why the workflow of a grant has ended. */
async function whyNotGiven(result: Promise<unknown>) {
  try {
    await result;
  } catch (error) {
    const refusal = refusalIn(error, HINTS);
    if (refusal !== undefined) return refusal;
  }
  return refused('refused', 'it is over, and its id stays taken');
}

/** After this time, no worker uses what it read before. */
function untilRead() {
  return delay(TIMES.pausesKnown);
}

/**
 * Confirms a grant. Workers keep an earlier answer about grants for some time, so this waits until that time is over.
 */
async function confirmGrant(context: ClientContext, asked: ConfirmAsked): Promise<GrantSeen> {
  const { id } = asked;
  await update(context, id, { name: UPDATES.confirm, asked, doing: 'confirming a grant' });
  await untilRead();
  return seenOf(context, await requireGrant(context, id));
}

/**
 * Takes back a grant, or all grants that are listed. Once this resolves, no call starts by them any more, unless it
 * says that a revocation is only recorded.
 */
async function revokeGrants(context: ClientContext, { id, ...asked }: RevokeAsked): Promise<Revoked> {
  const grants = id === undefined ? await listOpen(context) : [await requireGrant(context, id)];
  const silent = await Promise.all(
    grants.map(async (grant) => {
      try {
        await update(context, grant.id, { name: UPDATES.revoke, asked, doing: 'revoking a grant' });
        return false;
      } catch (error) {
        if (!(error instanceof CountersignError) || error.code !== 'still_waiting') throw error;
        const handle = context.client.workflow.getHandle(grantWorkflowId(grant.id));
        await ask(context, 'revoking a grant', () => handle.signal(SIGNALS.revoke, asked));
        return true;
      }
    }),
  );
  await untilRead();
  const ended = grants.map(termsIn);
  return silent.includes(true) ? { ended, recorded: true } : { ended };
}

/** All grants that have not ended. Needs no worker. */
async function listGrants(context: ClientContext): Promise<GrantsSeen> {
  const open = (await listOpen(context)).filter((grant) => whyEnded(grant, Date.now()) === undefined);
  return { grants: await Promise.all(open.map((grant) => seenOf(context, grant))) };
}

function listOpen(context: ClientContext) {
  return ask(context, 'asking which grants there are', () => openGrants(context.lister));
}

async function requireGrant(context: ClientContext, id: string): Promise<ListedGrant> {
  const found = await ask(context, 'reading a grant', () => readGrant(context.client, id));
  if (found !== undefined && found.revoked !== true) return found;
  throw refused('not_found', noGrantText(id));
}

/** A grant with the people who have to confirm it, whom only the input of its workflow names. */
async function seenOf(
  { source }: ClientContext,
  { needsOthers, runId, revoked: _revoked, ...grant }: ListedGrant,
): Promise<GrantSeen> {
  if (needsOthers !== true) return grant;
  const workflowId = grantWorkflowId(grant.id);
  const raw = await readFirst(source, { turn: workflowId, runId });
  const owner = { type: 'workflow', namespace: source.namespace, workflowId } as const;
  const first = raw && (await source.decode(raw, owner));
  const asked = first?.kind === 'started' ? first.input : undefined;
  return { ...grant, authority: isGrantAsked(asked) ? asked.authority : undefined };
}

function update(
  context: ClientContext,
  id: string,
  { name, asked, doing }: { name: string; asked: object; doing: string },
) {
  const updating = { workflowId: grantWorkflowId(id), name, asked };
  const absent = { code: 'not_found', message: noGrantText(id) } as const;
  return tellControl<void, object, GrantRefused['code']>(context, updating, { hints: HINTS, doing, absent });
}

function refused(code: keyof typeof HINTS & CountersignError['code'], message: string) {
  return new CountersignError(code, message, HINTS[code]);
}

const HINTS = {
  malformed: 'see countersign grants --help',
  refused: 'see docs/grants.md',
  full: 'revoke those that are not needed, before they are given',
  not_found: 'countersign grants shows what there is',
  grant_void: 'see docs/grants.md',
} as const satisfies Record<GrantRefused['code'], string>;
