import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { z } from 'zod';
import { isAtLeast } from '../../authority/rules/permits';
import { sessionNotFound } from '../../client/session/reader';
import { CountersignError } from '../../contract/errors';
import { SESSION_MESSAGE } from '../../contract/session';
import { isOwn } from '../auth/origin';
import { notAllowed } from '../auth/roles';
import type { AppDeps } from '../deps';
import { checkInput, id, readBody } from '../request-body';
import { bearerOf, checkConverse, type Env, mayGoOn, requireSignedIn, senderOf } from '../session';
import { eventStream, type Wire } from '../sse';
import { AG_UI_INPUT, agUi } from './ag-ui';
import { aiSdk, UI_INPUT } from './ai-sdk';
import { isRecorded, type NewWords, sendAnswers } from './answers';
import { type ThreadRequest, eventsOf } from './look';
import type { Thread } from './thread';
import { createThreads, type SharedThread } from './threads';

/** A client sends its whole list of messages. */
const BODY = { bytes: 8 * 1024 * 1024, what: 'body', hint: 'send fewer messages: only new words are read' };
const HOLD_MS = 25_000;

/** The doors for the pages of a product: AG-UI, and the UI message stream of the AI SDK. */
export function ownPageRoutes(deps: AppDeps, role: MiddlewareHandler<Env>): Hono<Env> {
  const open = createThreads(deps);
  const { allowOrigins = [] } = deps.ownPage ?? {};
  const others = cors({ origin: [...allowOrigins], allowMethods: ['GET', 'POST'], maxAge: 600 });
  const door = [requireOrigin(deps), others, requireSignedIn(deps, bearerOf), role];
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

/** The most turns of the past that are written step by step. Of older ones only words and answer are. */
const WHOLE_TURNS = 10;

type Open = (session: string) => SharedThread;

async function look(deps: AppDeps, open: Open, c: Context<Env>, asked: ThreadRequest): Promise<Response> {
  const { authenticator, closing, formatError, ownPage } = deps;
  const permit = c.get('permit');
  const isApprover = isAtLeast(permit.role, 'approver');
  const words = await sayWords(open, c, asked);
  if (!isApprover && words.length + asked.answers.length > 0) throw notAllowed(permit.role, 'approver');
  const shared = open(asked.thread);
  for (const one of words) shared.expect((now) => hasWords(now, one));
  const thread = await shared.read(AbortSignal.any([c.req.raw.signal, closing]));
  if (thread === undefined) throw new CountersignError('not_ready', 'the web inbox closes');
  await shared.readEnded(thread.session.turns.slice(-WHOLE_TURNS).map(({ turn }) => turn));
  const inbox = ownPage?.publicUrl ?? new URL(c.req.url).origin + deps.basePath;
  const outcomes = await sendAnswers(deps, c, { ...asked, turns: thread.session.turns, inbox });
  const who = { user: senderOf(c).approver, isApprover, inbox };
  const about = {
    open: () => open(asked.thread),
    permit,
    who,
    outcomes,
    formatError,
    writer: asked.writer(who),
  };
  for (const one of outcomes) shared.expect((now) => isRecorded(now, one));
  const response = eventStream({
    events: (signal) => eventsOf({ ...about, holdMs: ownPage?.holdMs ?? HOLD_MS }, signal),
    isAllowed: mayGoOn(authenticator, c),
    ...{ closing, formatError, wire: WIRE },
  });
  response.headers.set('Cache-Control', 'no-store');
  response.headers.set('x-vercel-ai-ui-message-stream', 'v1');
  return response;
}

const messageId = z
  .string()
  .regex(new RegExp(SESSION_MESSAGE.properties.messageId.pattern), 'is 1 to 64 letters, digits, . _ : and -');
const newWords = z.array(z.object({ messageId, text: z.string() }));

/** Says the words that the conversation does not have, and returns them. They start it if it does not exist. */
async function sayWords(open: Open, c: Context<Env>, asked: ThreadRequest): Promise<readonly NewWords[]> {
  const agent = checkInput(id, c.req.param('agent'));
  const taskQueue = checkInput(id.optional(), c.req.query('taskQueue'));
  const sender = senderOf(c).approver;
  const session = c.get('reader').session(asked.thread, { agent, taskQueue, requester: sender });
  const now = await session.state().catch((error: unknown) => {
    const isMissing = error instanceof CountersignError && error.code === 'not_found';
    if (!isMissing || asked.words.length === 0) throw error;
  });
  if (now !== undefined && now.agent !== agent) throw sessionNotFound(session.id);
  const known = now && (await open(session.id).read(c.req.raw.signal));
  const words = asked.words.filter((one) => known === undefined || !hasWords(known, one));
  if (words.length === 0 || !isAtLeast(c.get('permit').role, 'approver')) return words;
  checkConverse(c);
  for (const one of checkInput(newWords, words)) await session.send({ ...one, sender });
  return words;
}

function hasWords({ session }: Thread, { messageId: one, text }: NewWords): boolean {
  return session.messages.some((said) => said.messageId === one && said.text === text);
}
