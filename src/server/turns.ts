import { race } from '../system/race';
import { authorityOn, describeVoting } from '../history/labels';
import { offersOn, type Onlooker } from '../history/offers';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { setTimeout as delay } from 'node:timers/promises';
import type { FollowOptions } from '../client/requests';
import { CountersignError } from '../contract/errors';
import { CALL_FACETS, LISTED_STATES } from '../contract/turn-states';
import { turnNotFound } from '../history/server-errors';
import { viewOf } from '../history/view';
import type { CallDetails, StartedForkAnswer, TurnDetails } from './api';
import { EVERYTHING, isAtLeast, isSeenBy } from '../authority/rules/permits';
import type { AppDeps, VotersFile } from './deps';
import { Lookers } from './open-elsewhere';
import { eventStream, type ServerEvent } from './sse';
import { textEvents, type TextStore } from './streamed-text';
import { callId, checkInput, filterText, id, readBody, reason } from './request-body';
import { type Env, mayGoOn, senderOf } from './session';
import { assuranceHere } from './signer';
import type { Reader } from './visible-turns';
import type { ForkChange } from '../history/fork';
import { afterWords } from '../authority/votes/requesters';
import { type JsonObject, isObject } from '../contract/json';

const moment = z.iso.datetime({ offset: true }).optional();

const listSchema = z.object({
  state: z.enum(LISTED_STATES).optional(),
  agent: filterText,
  tool: filterText,
  facet: z.enum(CALL_FACETS).optional(),
  id: filterText,
  text: filterText,
  from: moment,
  to: moment,
  older: z.string().max(20_000).optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
});

/** The routes that read turns, one turn, and one call. */
export function turnRoutes({
  texts,
  authenticator,
  closing,
  formatError,
  shown,
  voters,
  ...signers
}: AppDeps): Hono<Env> {
  const lookers = new Lookers();
  return new Hono<Env>()
    .get('/', async (c) => c.json(await c.get('reader').turns(checkInput(listSchema, c.req.query()))))
    .get('/:turn', async (c) => c.json(await turnDetails(c.get('reader'), await findExactly(c))))
    .get('/:turn/events', async (c) => {
      const client = c.get('reader');
      return eventStream({
        async *events(signal) {
          yield* turnEvents({ client, texts }, await findExactly(c), signal);
        },
        isAllowed: mayGoOn(authenticator, c),
        closing,
        formatError,
      });
    })
    .get('/:turn/calls/:callId', async (c) => {
      const turn = await findExactly(c);
      const user = senderOf(c).approver;
      const who = { user, role: c.get('permit').role, signs: await assuranceHere(signers, user) };
      const about = { turn, callId: c.req.param('callId'), who, file: await voters?.() };
      const details = await callDetails(c.get('reader'), about);
      shown.keep(details.view);
      lookers.open(user, `${turn}/${about.callId}`);
      return c.json(details);
    })
    .post('/:turn/calls/:callId/open', async (c) => {
      const turn = await findExactly(c);
      return c.json(lookers.stay(senderOf(c).approver, `${turn}/${c.req.param('callId')}`));
    });
}

/**
 * The turn that a request's path names by exactly its id. Other workflows are not found.
 *
 * @throws CountersignError `not_found`.
 */
export async function findExactly(c: Context<Env>): Promise<string> {
  const id = c.req.param('turn') ?? '';
  if ((await c.get('reader').find(id)) !== id) throw turnNotFound(id);
  return id;
}

async function turnDetails(client: Reader, turn: string): Promise<TurnDetails> {
  const events = await client.timeline(turn);
  const view = viewOf(events);
  const pending =
    view.endedAt === null ? await client.pendingActivities(turn) : { activities: [], idleQueues: [] };
  return { view, events, pending };
}

async function callDetails(
  client: Reader,
  { turn, callId, who, file }: { turn: string; callId: string; who: Onlooker; file: VotersFile | undefined },
): Promise<CallDetails> {
  const view = await client.view(turn);
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) throw new CountersignError('not_found', `${turn} has no call ${callId}`);
  const { schema, timeoutMs } = call.request ?? {};
  const tools = call.phase === 'request' ? await client.changedTools(turn) : [];
  const changed = tools?.find((one) => one.callId === callId)?.now;
  const now = Date.now();
  const mayAct = (person: string) => {
    const permit = file?.permitOf?.(person) ?? EVERYTHING;
    const callers = view.lineage?.map((one) => one.agent);
    return isAtLeast(permit.role, 'approver') && isSeenBy(permit, { agent: view.agent, callers });
  };
  const { votersLeft, ...offered } = offersOn(view, call, who, { now, changed });
  return {
    view,
    callId,
    schema,
    timeoutMs,
    changed,
    voting: describeVoting(call, now, mayAct),
    votersLeft: votersLeft?.filter(mayAct),
    afterWords: afterWords(authorityOn(call), { approver: who.user, now }),
    ...offered,
  };
}

type TurnReader = Pick<Reader, 'follow' | 'pendingActivities'>;

/** Milliseconds between two reads of the running activities, which history shows only when they have ended. */
const POLL_MS = 1_000;

/** The sources of the events of a turn. */
interface TurnSources {
  client: TurnReader;
  texts: Pick<TextStore, 'watch' | 'note'>;
}

/**
 * All events of a turn from its start, its running activities and the text that its model writes, until the turn ends.
 * The first `pending` comes once all events so far were sent.
 *
 * @throws CountersignError as `Countersign.follow`.
 */
export async function* turnEvents(
  { client, texts }: TurnSources,
  turn: string,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const ended = new AbortController();
  const own = AbortSignal.any([signal, ended.signal]);
  const caughtUp = new AbortController();
  const past = historyEvents({ client, texts }, turn, { signal: own, onCaughtUp: () => caughtUp.abort() });
  const running = pendingEvents(client, turn, { signal: own, caughtUp: caughtUp.signal });
  try {
    yield* untilFirstEnds(past, untilFirstEnds(textEvents(texts, turn, own), running));
    if (!signal.aborted) yield { event: 'end', data: {} };
  } finally {
    ended.abort();
  }
}

async function* historyEvents(
  { client, texts }: TurnSources,
  turn: string,
  options: FollowOptions,
): AsyncGenerator<ServerEvent> {
  let id = 0;
  for await (const data of client.follow(turn, options)) {
    yield { event: 'turn', id: id++, data };
    texts.note(turn, data);
  }
}

async function* pendingEvents(
  client: TurnReader,
  turn: string,
  { signal, caughtUp }: { signal: AbortSignal; caughtUp: AbortSignal },
): AsyncGenerator<ServerEvent> {
  await aborted(AbortSignal.any([signal, caughtUp]));
  for (let last = ''; !signal.aborted;) {
    const data = await client.pendingActivities(turn);
    const now = JSON.stringify(data);
    if (now !== last) yield { event: 'pending', data };
    last = now;
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The items of both generators as they arrive, until the first generator ends. */
export async function* untilFirstEnds<T>(
  first: AsyncGenerator<T>,
  other: AsyncGenerator<T>,
): AsyncGenerator<T> {
  type Next = Promise<{ source: AsyncGenerator<T>; result: IteratorResult<T> }>;
  const ask = (source: AsyncGenerator<T>): Next => {
    const next = source.next().then((result) => ({ source, result }));
    // The race handles a failure. After the end of the stream a failure does not matter.
    next.catch(() => undefined);
    return next;
  };
  let nextFirst: Next = ask(first);
  let nextOther: Next | undefined = ask(other);
  for (;;) {
    const asked: Next[] = nextOther ? [nextFirst, nextOther] : [nextFirst];
    const { source, result } = await race(asked);
    if (source === first) {
      if (result.done === true) return;
      nextFirst = ask(first);
    } else nextOther = result.done === true ? undefined : ask(other);
    if (result.done !== true) yield result.value;
  }
}

const cancelSchema = z.strictObject({ reason, abandon: z.boolean().optional() });

/** The route that cancels or abandons a turn. */
export function cancelRoutes({ feed }: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/:turn/cancel', async (c) => {
    const { reason, abandon = false } = await readBody(c, cancelSchema);
    const turn = await findExactly(c);
    const { approver } = senderOf(c);
    if (abandon) await c.get('reader').abandon(turn, { approver, reason });
    // Temporal records its caller, which is the web inbox, so the reason names the person who asked.
    else
      await c
        .get('reader')
        .cancel(turn, reason === undefined ? `by ${approver}` : `by ${approver}: ${reason}`);
    feed.refresh(turn);
    return c.body(null, 204);
  });
}

/** The arguments of a call. They are checked against the tool's schema where they are used. */
const args = z.custom<JsonObject>(isObject, 'must be an object');

/** The change of a fork, without the approver. The session names the approver. */
const changeSchema = z.discriminatedUnion('what', [
  z.strictObject({ what: z.literal('arguments'), arguments: args }),
  z.strictObject({ what: z.literal('decision'), decision: z.enum(['approved', 'denied']), reason }),
  z.strictObject({
    what: z.literal('reply'),
    reply: z.strictObject({
      text: z.string().optional(),
      calls: z.array(z.strictObject({ tool: id, arguments: args.optional() })).optional(),
    }),
  }),
]);

const forkSchema = z.strictObject({
  at: callId,
  change: changeSchema.optional(),
  model: id.optional(),
  live: z.boolean().default(false),
});

/** The route that forks a turn at a call. The route starts a new turn and leaves the forked turn unchanged. */
export function forkRoutes({ feed }: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/:turn/forks', async (c) => {
    const { at, change, model, live } = await readBody(c, forkSchema);
    if (live && !c.get('who').rights.includes('fork-live')) throw notAllowed();
    const of = await findExactly(c);
    const { approver } = senderOf(c);
    const asked = { model, change: change && changeOf(change, approver) };
    const world = live ? 'live' : 'dry';
    const { turn } = await c.get('reader').fork({ turn: of, at, world, by: approver, ...asked });
    feed.refresh();
    return c.json({ turn, of } satisfies StartedForkAnswer, 201);
  });
}

/**
 * The error for a person who may not fork with effects. Such a fork starts a turn, and its given reply can call any
 * tool of its agent.
 */
function notAllowed() {
  return new CountersignError(
    'not_allowed',
    'you may not start forks with effects',
    'fork without effects, or ask whoever runs the web inbox for the right: countersign web user <name> --may-fork',
  );
}

function changeOf(change: z.infer<typeof changeSchema>, approver: string): ForkChange {
  switch (change.what) {
    case 'arguments':
      return change;
    case 'decision':
      return { ...change, approver };
    case 'reply': {
      const { text, calls } = change.reply;
      return { what: 'reply', reply: { text, calls } };
    }
  }
}
