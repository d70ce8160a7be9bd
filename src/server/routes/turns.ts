import { Hono } from 'hono';
import { z } from 'zod';
import type { Countersign } from '../../client/types';
import { CountersignError } from '../../contract/errors';
import { TURN_STATES } from '../../contract/turn';
import { defined } from '../../history/defined';
import { turnNotFound } from '../../history/server-errors';
import { viewOf } from '../../history/view';
import type { CallDetails, TurnDetails } from '../api';
import type { AppDeps } from '../deps';
import { eventStream } from '../events';
import { checkInput } from '../guard/body';
import type { Env } from '../guard/signed-in';
import { turnEvents } from '../turn-events';

const text = z.string().min(1).max(200).optional();
const listSchema = z.object({
  state: z.enum([...TURN_STATES, 'terminated', 'timed_out']).optional(),
  agent: text,
  search: text,
  limit: z.coerce.number().int().min(1).max(500).optional(),
});

/** Turns, one turn, one call. Nothing here changes anything. */
export function turnRoutes({ desk, door, closing, tell }: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .get('/', async (c) => c.json(await desk.list(defined(checkInput(listSchema, c.req.query())))))
    .get('/:turn', async (c) => c.json(await turnDetails(desk, await findExactly(desk, c.req.param('turn')))))
    .get('/:turn/events', async (c) => {
      const turn = await findExactly(desk, c.req.param('turn'));
      const credentials = c.get('credentials');
      return eventStream({
        events: (signal) => turnEvents(desk, turn, signal),
        isWelcome: () => door.isStillIn(credentials),
        closing,
        tell,
      });
    })
    .get('/:turn/calls/:callId', async (c) => {
      const turn = await findExactly(desk, c.req.param('turn'));
      return c.json(await callDetails(desk, turn, c.req.param('callId')));
    });
}

/** The turn of this whole id; what is no turn of ours stays unseen. Errors: `turn_not_found`. */
export async function findExactly(desk: Pick<Countersign, 'find'>, id: string): Promise<string> {
  if ((await desk.find(id)) !== id) throw turnNotFound(id);
  return id;
}

async function turnDetails(desk: Countersign, turn: string): Promise<TurnDetails> {
  const events = await desk.timeline(turn);
  const view = viewOf(events);
  const pending =
    view.endedAt === null ? await desk.pendingActivities(turn) : { activities: [], idleQueues: [] };
  return { view, events, pending };
}

async function callDetails(desk: Countersign, turn: string, callId: string): Promise<CallDetails> {
  const view = await desk.view(turn);
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) throw callNotFound(turn, callId);
  const { schema, timeoutMs } = call.request ?? {};
  return { view, callId, ...defined({ schema, timeoutMs }) };
}

function callNotFound(turn: string, callId: string): CountersignError {
  return new CountersignError('call_not_found', `${turn} has no call ${callId}`);
}
