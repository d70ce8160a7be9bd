import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { z } from 'zod';
import { isAtLeast } from '../../authority/rules/permits';
import { sessionNotFound } from '../../client/session/reader';
import { CountersignError } from '../../contract/errors';
import { unlessGone } from '../../history/server-errors';
import { fewAtOnce } from '../auth/few-at-once';
import { isOwn } from '../auth/origin';
import { notAllowed } from '../auth/roles';
import { messageId } from '../conversations';
import type { AppDeps } from '../deps';
import { checkInput, id, readBody } from '../request-body';
import { bearerOf, checkConverse, type Env, mayGoOn, requireSignedIn, senderOf } from '../session';
import { eventStream, type Wire } from '../sse';
import { AG_UI_INPUT, agUi } from './ag-ui';
import { aiSdk, UI_INPUT } from './ai-sdk';
import { sendAnswers } from './answers';
import { type NewWords, type ThreadRequest, eventsOf } from './look';
import type { Thread } from './thread';
import { createThreads, type OpenThread } from './threads';

/** A client sends its whole list of messages. */
const BODY = { bytes: 8 * 1024 * 1024, what: 'body', hint: 'send fewer messages: only new words are read' };
const HOLD_MS = 25_000;
/** The most that a request may say that is new. Each is sent to Temporal by itself. */
const MOST_WORDS = 20;
const MOST_ANSWERS = 200;

/** The doors for the pages of a product: AG-UI, and the UI message stream of the AI SDK. */
export function ownPageRoutes(deps: AppDeps, role: MiddlewareHandler<Env>): Hono<Env> {
  const open = createThreads(deps);
  const { allowOrigins = [] } = deps.ownPage ?? {};
  const others = cors({ origin: [...allowOrigins], allowMethods: ['GET', 'POST'], maxAge: 600 });
  const door = [requireOrigin(deps), others, requireSignedIn(deps, bearerOf), fewAtOnce(), role];
  return new Hono<Env>()
    .use('/ag-ui/*', ...door)
    .use('/api/chat/*', ...door)
    .post('/ag-ui/:agent', async (c) => look(deps, open, c, agUi(await readBody(c, AG_UI_INPUT, BODY))))
    .post('/api/chat/:agent', async (c) => look(deps, open, c, aiSdk(await readBody(c, UI_INPUT, BODY))))
    .get('/api/chat/:agent/:thread/stream', async (c) =>
      look(deps, open, c, aiSdk({ id: c.req.param('thread'), messages: [] })),
    );
}

/** Accepts requests of programs, of our own page and of the pages that were named. */
function requireOrigin({ hosts, ownPage }: AppDeps): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { host = '', origin = `http://${host}` } = c.req.header();
    const isAllowed = isOwn(origin, host) || ownPage?.allowOrigins?.includes(origin) === true;
    if (isAllowed && hosts.knows(host)) return next();
    throw new CountersignError(
      'not_allowed',
      'refused: a page of another origin asks, or under another name',
      'name its origin with --allow-origin, and the name of this host with --allow-host',
    );
  };
}

/** Events without names, and signs of life that no client takes for an event. */
const WIRE: Wire = {
  opening: '',
  beat: () => ': beat\n\n',
  encode: ({ data }) => `data: ${JSON.stringify(data)}\n\n`,
};

async function look(
  deps: AppDeps,
  open: OpenThread,
  c: Context<Env>,
  asked: ThreadRequest,
): Promise<Response> {
  if (asked.words.length > MOST_WORDS || asked.answers.length > MOST_ANSWERS)
    throw new CountersignError('usage', 'there are too many new words or answers in one request');
  const { authenticator, closing, formatError, ownPage } = deps;
  const permit = c.get('permit');
  const who = {
    user: senderOf(c).approver,
    isApprover: isAtLeast(permit.role, 'approver'),
    inbox: ownPage?.publicUrl ?? new URL(c.req.url).origin + deps.basePath,
  };
  const signal = AbortSignal.any([c.req.raw.signal, closing]);
  const words = await sayWords(open, c, { asked, signal });
  const thread = await open(asked.thread, who.user).read(signal, (now) =>
    words.every((one) => hasWords(now, one)),
  );
  if (thread === undefined) throw new CountersignError('not_ready', 'the web inbox closes');
  const { turns } = thread.session;
  const outcomes = await sendAnswers(deps, c, { ...asked, turns, inbox: who.inbox });
  const about = {
    permit,
    who,
    outcomes,
    formatError,
    holdMs: ownPage?.holdMs ?? HOLD_MS,
    open: () => open(asked.thread, who.user),
    writer: asked.writer(who),
  };
  const response = eventStream({
    events: (gone) => eventsOf(about, gone),
    isAllowed: mayGoOn(authenticator, c),
    closing,
    formatError,
    wire: WIRE,
  });
  response.headers.set('Cache-Control', 'no-store');
  response.headers.set('x-vercel-ai-ui-message-stream', 'v1');
  return response;
}

/** Says the words that the conversation does not have, and returns them. They start it if it does not exist. */
async function sayWords(
  open: OpenThread,
  c: Context<Env>,
  { asked, signal }: { asked: ThreadRequest; signal: AbortSignal },
): Promise<readonly NewWords[]> {
  const agent = checkInput(id, c.req.param('agent'));
  const taskQueue = checkInput(id.optional(), c.req.query('taskQueue'));
  const sender = senderOf(c).approver;
  const session = c.get('reader').session(asked.thread, { agent, taskQueue, requester: sender });
  const state = session.state();
  const now = await (asked.words.length > 0 ? unlessGone(state) : state);
  if (now && now.agent !== agent) throw sessionNotFound(session.id);
  const known = now && (await open(session.id, sender).read(signal));
  const words = asked.words.filter((one) => known === undefined || !hasWords(known, one));
  const { role } = c.get('permit');
  if (!isAtLeast(role, 'approver') && words.length + asked.answers.length > 0)
    throw notAllowed(role, 'approver');
  if (words.length > 0) checkConverse(c);
  for (const one of checkInput(newWords, words)) await session.send({ ...one, sender });
  return words;
}

const newWords = z.array(z.object({ messageId, text: z.string() }));

function hasWords({ session }: Thread, { messageId: one, text }: NewWords) {
  return session.messages.some((said) => said.messageId === one && said.text === text);
}
