import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { FollowOptions } from '../client/requests';
import type { Session, SessionsQuery, SessionTurnEvent } from '../client/session/types';
import { LIMITS } from '../contract/limits';
import { isFileRef } from '../contract/session/files';
import { CONTROL_REASON, CONTROLS, MESSAGE_ID, type SessionControl } from '../contract/session';
import { MODES } from '../contract/turn-states';
import type { SessionEvent } from '../history/session/events';
import type { ConversationDetails, ConversationsPage } from './api';
import type { AppDeps } from './deps';
import { checkInput, filterText, id, readBody } from './request-body';
import { noStore } from './files';
import { checkConverse, type Env, mayGoOn, senderOf } from './session';
import { eventStream, type ServerEvent } from './sse';
import type { TextStore } from './streamed-text';
import { aborted, untilFirstEnds } from './turns';
import { guarded } from '../system/guarded';

const listSchema = z.object({
  open: z.literal('1').optional(),
  agent: filterText,
  limit: z.coerce.number().int().min(1).max(200).default(50),
  older: z.string().max(20_000).optional(),
});

const fileSchema = z.strictObject({
  file: guarded(isFileRef, 'does not stand for a file'),
  proof: z.string().max(100),
});

export const messageId = z.string().regex(MESSAGE_ID, 'is 1 to 64 letters, digits, . _ : and -');

const messageSchema = z.strictObject({
  text: z.string(),
  files: z.array(fileSchema).max(LIMITS.filesPerMessage).optional(),
  messageId,
  mode: z.enum(MODES).optional(),
  agent: id.optional(),
  taskQueue: id.optional(),
});

const controlSchema = z.strictObject({
  action: z.enum(CONTROLS),
  cancel: z.literal(true).optional(),
  reason: z.string().max(CONTROL_REASON).optional(),
});

/** The routes that list conversations, read a conversation, send a message to it, and stop, pause or close it. */
export function conversationRoutes(deps: AppDeps): Hono<Env> {
  const { texts, authenticator, closing, formatError } = deps;
  const named = (c: Context<Env>) => c.get('reader').session(c.req.param('session') ?? '');
  return new Hono<Env>()
    .get('/', async (c) => {
      const { open, ...query } = checkInput(listSchema, c.req.query());
      return c.json(await listRows(deps, c, { open: open !== undefined, ...query }));
    })
    .get('/:session', async (c) => {
      const session = named(c);
      const [now, view] = [await session.state(), await session.history()];
      return c.json({ now, view } satisfies ConversationDetails);
    })
    .get('/:session/events', async (c) => {
      const session = named(c);
      return eventStream({
        events: (signal) => conversationEvents({ session, texts }, signal),
        isAllowed: mayGoOn(authenticator, c),
        closing,
        formatError,
      });
    })
    .post('/:session/messages', async (c) => c.json(await sendMessage(deps, c)))
    .post('/:session/controls', async (c) => {
      await control(() => named(c), c);
      return c.body(null, 204);
    });
}

/** A page of conversations, each with the number of its items that wait for a person. */
async function listRows(
  { feed }: Pick<AppDeps, 'feed'>,
  c: Context<Env>,
  query: SessionsQuery,
): Promise<ConversationsPage> {
  const { sessions, older } = await c.get('reader').sessions(query);
  const conversations = await Promise.all(
    sessions.map(async (one) => {
      if (one.endedAt !== null) return { ...one, asks: 0 };
      const page = await feed.page({ session: one.session, limit: 1 }, c.get('permit'));
      return { ...one, asks: page?.matching ?? 0 };
    }),
  );
  return { conversations, older };
}

async function sendMessage({ files: store }: Pick<AppDeps, 'files'>, c: Context<Env>) {
  const { agent, taskQueue, files: sent = [], ...message } = await readBody(c, messageSchema);
  checkConverse(c);
  const { approver: sender } = senderOf(c);
  const options = { agent, taskQueue, requester: agent && sender };
  if (store === undefined && sent.length > 0) throw noStore();
  const files = store?.take(sender, sent) ?? [];
  const session = c.get('reader').session(c.req.param('session') ?? '', options);
  return session.send({ ...message, files, sender });
}

/** Actions that only stop something. Like cancelling a turn, they need no additional right. */
const STOPS: readonly SessionControl['action'][] = ['pause', 'cancel_turn', 'close'];

async function control(named: () => Session, c: Context<Env>) {
  const { action, cancel, reason } = await readBody(c, controlSchema);
  if (!STOPS.includes(action)) checkConverse(c);
  const session = named();
  const act = { sender: senderOf(c).approver, reason };
  switch (action) {
    case 'pause':
      return session.pause(act);
    case 'resume':
      return session.resume(act);
    case 'cancel_turn':
      return session.cancelTurn(act);
    case 'compact':
      return session.compact(act);
    case 'close':
      return session.close({ ...act, cancel });
  }
}

/** The source of the events of a conversation. */
interface ConversationSources {
  session: Pick<Session, 'state'> & {
    follow(options: FollowOptions): AsyncIterable<SessionEvent | SessionTurnEvent>;
  };
  texts: Pick<TextStore, 'watch' | 'note'>;
}

/**
 * All events of a conversation from its start, the events of the running turn, and the text that its model writes,
 * until the conversation ends. `live` comes once all events so far were sent.
 *
 * @throws CountersignError as `Session.follow`.
 */
async function* conversationEvents(
  { session, texts }: ConversationSources,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const ended = new AbortController();
  const own = AbortSignal.any([signal, ended.signal]);
  const caughtUp = new AbortController();
  const running = new RunningTurn();
  const past = sessionEvents({ session, texts }, running, {
    signal: own,
    onCaughtUp: () => caughtUp.abort(),
  });
  const words = textOfRunning(texts, running, own);
  try {
    await session.state();
    yield { event: 'start', data: {} };
    yield* untilFirstEnds(past, untilFirstEnds(words, liveEvent(own, caughtUp.signal)));
    if (!signal.aborted) yield { event: 'end', data: {} };
  } finally {
    ended.abort();
  }
}

async function* sessionEvents(
  { session, texts }: ConversationSources,
  running: RunningTurn,
  options: FollowOptions,
): AsyncGenerator<ServerEvent> {
  for await (const data of session.follow(options)) {
    if (data.type !== 'turn_event') {
      yield { event: 'session', data };
      if (data.type === 'turn_ended') running.set(undefined);
      continue;
    }
    running.set(data.turn);
    yield { event: 'turn', data };
    texts.note(data.turn, data.event);
  }
}

async function* liveEvent(signal: AbortSignal, caughtUp: AbortSignal): AsyncGenerator<ServerEvent> {
  await aborted(AbortSignal.any([signal, caughtUp]));
  if (!signal.aborted) yield { event: 'live', data: {} };
}

async function* textOfRunning(
  texts: Pick<TextStore, 'watch'>,
  running: RunningTurn,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  while (!signal.aborted) {
    const { turn, over } = running;
    const either = AbortSignal.any([signal, over]);
    if (turn === undefined) await aborted(either);
    else for await (const delta of texts.watch(turn, either)) yield { event: 'text', data: { turn, delta } };
  }
}

/** The running turn of a conversation. */
class RunningTurn {
  turn: string | undefined;
  private change = new AbortController();

  /** Aborts when another turn runs, or no turn does. */
  get over(): AbortSignal {
    return this.change.signal;
  }

  set(turn: string | undefined): void {
    if (turn === this.turn) return;
    const before = this.change;
    this.turn = turn;
    this.change = new AbortController();
    before.abort();
  }
}
