import { describeVoting } from '../history/labels';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { setTimeout as delay } from 'node:timers/promises';
import type { FollowOptions } from '../client/requests';
import type { Answer, Countersign, TurnsQuery } from '../client/types';
import { CountersignError } from '../contract/errors';
import { TURN_STATES } from '../contract/turn';
import { defined } from '../contract/defined';
import { turnNotFound } from '../history/server-errors';
import { viewOf } from '../history/view';
import type { CallDetails, StartedForkAnswer, TurnDetails } from './api';
import type { AppDeps } from './deps';
import { eventStream, type ServerEvent } from './sse';
import { textEvents, type TextStore } from './streamed-text';
import { args, callId, checkInput, filterText, id, messageBody, readBody, reason } from './request-body';
import { createShared } from './shared';
import { type Decision, DECISION, isDenial, QUESTION_ANSWER, RESOLUTION } from '../contract/decision';
import { type SignedInVote, signVote } from './signer';
import { type Env, senderOf } from './session';
import type { Refusal } from './refusal-log';
import type { ForkChange } from '../history/fork';

const moment = z.iso.datetime({ offset: true }).optional();

const listSchema = z.object({
  state: z.enum([...TURN_STATES, 'terminated', 'timed_out']).optional(),
  ...{ agent: filterText, tool: filterText, id: filterText, text: filterText },
  ...{ from: moment, to: moment },
  ...{ older: z.string().max(20_000).optional(), limit: z.coerce.number().int().min(1).max(500).optional() },
});

/** Reads turns, one turn, and one call. */
export function turnRoutes({ client, texts, authenticator, closing, formatError }: AppDeps): Hono<Env> {
  const list = createShared((query: TurnsQuery) => client.turns(query));
  return new Hono<Env>()
    .get('/', async (c) => c.json(await list(defined(checkInput(listSchema, c.req.query())))))
    .get('/:turn', async (c) =>
      c.json(await turnDetails(client, await findExactly(client, c.req.param('turn')))),
    )
    .get('/:turn/events', async (c) => {
      const turn = await findExactly(client, c.req.param('turn'));
      const credentials = c.get('credentials');
      return eventStream({
        events: (signal) => turnEvents({ client, texts }, turn, signal),
        isAllowed: () => authenticator.isStillSignedIn(credentials),
        closing,
        formatError,
      });
    })
    .get('/:turn/calls/:callId', async (c) => {
      const turn = await findExactly(client, c.req.param('turn'));
      return c.json(await callDetails(client, turn, c.req.param('callId')));
    });
}

/**
 * The turn with exactly this id. Other workflows are not found.
 *
 * @throws CountersignError `turn_not_found`.
 */
async function findExactly(client: Pick<Countersign, 'find'>, id: string): Promise<string> {
  if ((await client.find(id)) !== id) throw turnNotFound(id);
  return id;
}

async function turnDetails(client: Countersign, turn: string): Promise<TurnDetails> {
  const events = await client.timeline(turn);
  const view = viewOf(events);
  const pending =
    view.endedAt === null ? await client.pendingActivities(turn) : { activities: [], idleQueues: [] };
  return { view, events, pending };
}

async function callDetails(client: Countersign, turn: string, callId: string): Promise<CallDetails> {
  const view = await client.view(turn);
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) throw new CountersignError('call_not_found', `${turn} has no call ${callId}`);
  const { schema, timeoutMs } = call.request ?? {};
  const tools = call.phase === 'requested' ? await client.changedTools(turn) : [];
  const changed = tools?.find((one) => one.callId === callId)?.now;
  return { view, callId, ...defined({ schema, timeoutMs, changed, voting: describeVoting(call) }) };
}

type TurnReader = Pick<Countersign, 'follow' | 'pendingActivities'>;

/** Milliseconds between two reads of the running activities, which history shows only afterwards. */
const POLL_MS = 1_000;

/** Where the events of a turn come from. */
interface TurnSources {
  client: TurnReader;
  texts: Pick<TextStore, 'watch' | 'note'>;
}

/**
 * All events of a turn from its start, its running activities and what its model writes, until it ends. The first `pending` comes once all
 * events so far were sent.
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

/** Resolves once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The items of both, as they come, until the first one ends. */
export async function* untilFirstEnds<T>(
  first: AsyncGenerator<T>,
  other: AsyncGenerator<T>,
): AsyncGenerator<T> {
  type Next = Promise<{ source: AsyncGenerator<T>; result: IteratorResult<T> }>;
  const ask = (source: AsyncGenerator<T>): Next => {
    const next = source.next().then((result) => ({ source, result }));
    // The race sees a failure; after the end it does not matter any more.
    next.catch(() => undefined);
    return next;
  };
  let nextFirst: Next = ask(first);
  let nextOther: Next | undefined = ask(other);
  for (;;) {
    const race: Next[] = nextOther === undefined ? [nextFirst] : [nextFirst, nextOther];
    const { source, result } = await Promise.race(race);
    if (source === first) {
      if (result.done === true) return;
      nextFirst = ask(first);
    } else nextOther = result.done === true ? undefined : ask(other);
    if (result.done !== true) yield result.value;
  }
}

/** The session says who decides. A body that says it is refused. */
const decisionSchema = messageBody(DECISION, ['seenDigest', 'callKey']);
const resolutionSchema = messageBody(RESOLUTION, ['callKey']);
const answerSchema = messageBody(QUESTION_ANSWER, ['callKey']);
const cancelSchema = z.strictObject({ reason, abandon: z.boolean().optional() });

/** Decisions, resolutions, answers, and cancelling a turn. */
export function decisionRoutes({ client, feed, refusals, decided, signer }: AppDeps): Hono<Env> {
  type Attempt = Pick<Refusal, 'turn' | 'callId' | 'what'>;
  const respond = async (c: Context<Env>, answer: Answer, attempt: Attempt): Promise<Response> => {
    feed.refresh(attempt.turn);
    const user = senderOf(c).approver;
    if (answer.status !== 'refused') {
      decided.note(user, attempt.turn);
      return c.json(answer);
    }
    const at = new Date().toISOString();
    const { code, standing } = answer.verdict;
    await refusals.add({ at, namespace: client.namespace, user, ...attempt, code, ...defined({ standing }) });
    return c.json(answer, 409);
  };
  const sign = (c: Context<Env>, vote: Omit<SignedInVote, 'approver'>) =>
    signVote({ client, signer }, { ...vote, approver: senderOf(c).approver });
  return new Hono<Env>()
    .post('/:turn/decisions', async (c) => {
      const body = await readBody(c, decisionSchema);
      const turn = await findExactly(client, c.req.param('turn'));
      const decision = votedIn(body);
      const signed = decision === undefined ? {} : await sign(c, { turn, ...body, decision });
      const answer = await client.decide(turn, { ...body, ...senderOf(c), ...signed });
      return respond(c, answer, { turn, callId: body.callId, what: 'decision' });
    })
    .post('/:turn/resolutions', async (c) => {
      const body = await readBody(c, resolutionSchema);
      const turn = await findExactly(client, c.req.param('turn'));
      const { callId, resolution, reason } = body;
      const decision = 'run-again' as const;
      const signed = resolution === decision ? await sign(c, { turn, callId, reason, decision }) : {};
      const answer = await client.resolve(turn, { ...body, ...senderOf(c), ...signed });
      return respond(c, answer, { turn, callId: body.callId, what: 'resolution' });
    })
    .post('/:turn/answers', async (c) => {
      const body = await readBody(c, answerSchema);
      const turn = await findExactly(client, c.req.param('turn'));
      const answer = await client.answer(turn, { ...body, ...senderOf(c) });
      return respond(c, answer, { turn, callId: body.callId, what: 'answer' });
    })
    .post('/:turn/cancel', async (c) => {
      const { reason, abandon = false } = await readBody(c, cancelSchema);
      const turn = await findExactly(client, c.req.param('turn'));
      const { approver } = senderOf(c);
      if (abandon) await client.abandon(turn, { approver, ...defined({ reason }) });
      // Temporal records its caller, which is the web inbox, so the reason names the person who asked.
      else await client.cancel(turn, reason === undefined ? `by ${approver}` : `by ${approver}: ${reason}`);
      feed.refresh(turn);
      return c.body(null, 204);
    });
}

/** What a decision says as a vote. An edit is none: it makes a new request. */
function votedIn(decision: Pick<Decision, 'decision' | 'hunks'>): 'approved' | 'denied' | undefined {
  if (isDenial(decision)) return 'denied';
  return decision.decision === 'approved' ? 'approved' : undefined;
}

/** Without the approver, as above. */
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

/** Forks a turn at a call. This starts a new turn and leaves the forked one unchanged. */
export function forkRoutes({ client, feed }: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/:turn/forks', async (c) => {
    const { at, change, model, live } = await readBody(c, forkSchema);
    if (live && !c.get('who').rights.includes('fork-live')) throw notAllowed();
    const of = await findExactly(client, c.req.param('turn'));
    const { approver } = senderOf(c);
    const asked = defined({ model, change: change && changeOf(change, approver) });
    const { turn } = await client.fork({ turn: of, at, world: live ? 'live' : 'dry', ...asked });
    feed.refresh();
    return c.json({ turn, of } satisfies StartedForkAnswer, 201);
  });
}

/** A fork with effects starts a turn, and an invented reply can call any tool of its agent. */
function notAllowed(): CountersignError {
  return new CountersignError('not_allowed', 'you may not start forks with effects', {
    hint: 'fork without effects, or ask whoever runs the web inbox for the right: countersign web user add <name> --may-fork',
  });
}

function changeOf(change: z.infer<typeof changeSchema>, approver: string): ForkChange {
  switch (change.what) {
    case 'arguments':
      return change;
    case 'decision':
      return { ...defined(change), approver };
    case 'reply': {
      const { text, calls } = change.reply;
      return { what: 'reply', reply: defined({ text, calls: calls?.map((call) => defined(call)) }) };
    }
  }
}
