import { sessionNotFound } from '../client/session/reader';
import type { Session, SessionOptions } from '../client/session/types';
import type { Countersign } from '../client/types';
import { isSeenBy, type Permit } from '../authority/rules/permits';
import { noGrantText } from '../authority/grants/grant';
import { CountersignError } from '../contract/errors';
import { turnNotFound } from '../history/server-errors';

/** Everything that the web inbox can read and do with turns and conversations, limited to the permit of one person. */
export type Reader = Pick<
  Countersign,
  | ('find' | 'agentsOf' | 'timeline' | 'view' | 'placeOf' | 'pendingActivities' | 'changedTools' | 'follow')
  | ('turns' | 'list' | 'sessions' | 'session' | 'namespace')
  | ('decide' | 'resolve' | 'answer' | 'cancel' | 'abandon' | 'fork')
> & { grants: Pick<Countersign['grants'], 'give' | 'confirm' | 'list' | 'revoke'> };

/** Makes the reader for a permit. Two people who see the same turns share the data that is read. */
export type ReaderOf = (permit: Pick<Permit, 'agents'>) => Reader;

/**
 * The only place where the web inbox limits what a person sees. Turns and conversations of agents that the person may
 * not see appear not to exist. The same goes for turns that such an agent's turn started.
 */
export function createReaders(client: Reader): ReaderOf {
  const turns = createShared((query: Parameters<Reader['turns']>[0]) => client.turns(query));
  const sessions = createShared((query: Parameters<Reader['sessions']>[0]) => client.sessions(query));
  const shared: Reader = { ...unbound(client), turns, sessions };
  return ({ agents }) => (agents === 'all' ? shared : scoped(shared, agents));
}

/** The operations of a client as plain functions, so that some can be replaced. */
function unbound(client: Reader): Reader {
  return {
    namespace: client.namespace,
    find: (prefix) => client.find(prefix),
    agentsOf: (turn) => client.agentsOf(turn),
    timeline: (turn) => client.timeline(turn),
    view: (turn) => client.view(turn),
    placeOf: (view) => client.placeOf(view),
    pendingActivities: (turn) => client.pendingActivities(turn),
    changedTools: (turn) => client.changedTools(turn),
    follow: (turn, options) => client.follow(turn, options),
    turns: (query) => client.turns(query),
    list: (query) => client.list(query),
    sessions: (query) => client.sessions(query),
    session: (id, options) => client.session(id, options),
    decide: (turn, decision) => client.decide(turn, decision),
    resolve: (turn, resolution) => client.resolve(turn, resolution),
    answer: (turn, answer) => client.answer(turn, answer),
    cancel: (turn, reason) => client.cancel(turn, reason),
    abandon: (turn, abandonment) => client.abandon(turn, abandonment),
    fork: (request) => client.fork(request),
    grants: {
      give: (asked) => client.grants.give(asked),
      confirm: (asked) => client.grants.confirm(asked),
      list: () => client.grants.list(),
      revoke: (asked) => client.grants.revoke(asked),
    },
  };
}

function scoped(client: Reader, agents: readonly string[]): Reader {
  /** @throws CountersignError `turn_not_found`, as for a turn that does not exist. */
  const seen = async (turn: string): Promise<string> => {
    if (isSeenBy({ agents }, await client.agentsOf(turn))) return turn;
    throw turnNotFound(turn);
  };
  return {
    namespace: client.namespace,
    // Only the complete id is found, because a prefix would otherwise reveal an id.
    find: seen,
    agentsOf: async (turn) => client.agentsOf(await seen(turn)),
    timeline: async (turn) => client.timeline(await seen(turn)),
    view: async (turn) => client.view(await seen(turn)),
    placeOf: (view) => client.placeOf(view),
    pendingActivities: async (turn) => client.pendingActivities(await seen(turn)),
    changedTools: async (turn) => client.changedTools(await seen(turn)),
    follow: (turn, options) =>
      after(
        () => seen(turn),
        () => client.follow(turn, options),
      ),
    turns: (query) => client.turns({ ...query, agents }),
    list: (query) => client.list({ ...query, agents }),
    sessions: async (query) =>
      agents.length === 0 ? { sessions: [], older: null } : client.sessions({ ...query, agents }),
    session: (id, options) => scopedSession(client, agents, { id, ...(options && { options }) }),
    decide: async (turn, decision) => client.decide(await seen(turn), decision),
    resolve: async (turn, resolution) => client.resolve(await seen(turn), resolution),
    answer: async (turn, answer) => client.answer(await seen(turn), answer),
    cancel: async (turn, reason) => client.cancel(await seen(turn), reason),
    abandon: async (turn, abandonment) => client.abandon(await seen(turn), abandonment),
    fork: async ({ turn, ...request }) => {
      // A fork without a turn would read an exported history, which names its agent itself.
      if (turn === undefined) throw new CountersignError('usage', 'a fork needs the turn that it is of');
      return client.fork({ ...request, turn: await seen(turn) });
    },
    grants: scopedGrants(client, agents),
  };
}

function scopedGrants({ grants }: Reader, agents: readonly string[]): Reader['grants'] {
  const list: Reader['grants']['list'] = async () => {
    const found = await grants.list();
    return { ...found, grants: found.grants.filter((grant) => isSeenBy({ agents }, grant)) };
  };
  const requireSeen = async (id: string): Promise<void> => {
    if ((await list()).grants.some((one) => one.id === id)) return;
    throw new CountersignError('grant_not_found', noGrantText(id));
  };
  return {
    list,
    give: async (asked) => {
      if (isSeenBy({ agents }, asked)) return grants.give(asked);
      throw new CountersignError('grant_refused', `there is no agent ${asked.agent} here`);
    },
    confirm: async (asked) => {
      await requireSeen(asked.id);
      return grants.confirm(asked);
    },
    revoke: async (asked) => {
      // Also refuses to end all grants at once: a person who does not see all grants may not end them all.
      await requireSeen(asked.id ?? '');
      return grants.revoke(asked);
    },
  };
}

function scopedSession(
  client: Reader,
  agents: readonly string[],
  { id, options }: { id: string; options?: SessionOptions },
): Session {
  const session = client.session(id, options);
  /** @throws CountersignError `session_not_found`, as for a session that does not exist. */
  const seen = async (): Promise<Session> => {
    if (!isSeenBy({ agents }, await session.state())) throw sessionNotFound(session.id);
    return session;
  };
  /** Returns the session. If a message would start it, the person has to see its agent. */
  const open = async (): Promise<Session> => {
    const { agent } = options ?? {};
    if (agent === undefined) return seen();
    const now = await session.state().catch(unlessMissing);
    if (!isSeenBy({ agents }, { agent }) || (now !== undefined && !isSeenBy({ agents }, now)))
      throw sessionNotFound(session.id);
    return session;
  };
  return {
    id: session.id,
    send: async (message) => (await open()).send(message),
    follow: (how) => after(seen, () => session.follow(how)),
    followWithText: (how) => after(seen, () => session.followWithText(how)),
    history: async () => (await seen()).history(),
    state: async () => (await seen()).state(),
    pause: async (act) => (await seen()).pause(act),
    resume: async (act) => (await seen()).resume(act),
    cancelTurn: async (act) => (await seen()).cancelTurn(act),
    compact: async (act) => (await seen()).compact(act),
    close: async (act) => (await seen()).close(act),
  };
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof CountersignError && error.code === 'session_not_found')) throw error;
}

async function* after<T>(check: () => Promise<unknown>, items: () => AsyncIterable<T>): AsyncGenerator<T> {
  await check();
  yield* items();
}

/**
 * Shares a job among all callers who ask the same question. A caller who asks while the job runs gets the result of the
 * next run. So a result is never older than its question.
 */
function createShared<Q, T>(job: (question: Q) => Promise<T>): (question: Q) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<T>>();
  const begin = (key: string, question: Q): Promise<T> => {
    next.delete(key);
    const answer = job(question);
    const ended: Promise<unknown> = answer
      .catch(() => undefined)
      .then(() => running.get(key) === ended && running.delete(key));
    running.set(key, ended);
    return answer;
  };
  return (question) => {
    const key = JSON.stringify(question);
    const before = running.get(key);
    if (before === undefined) return begin(key, question);
    const shared = next.get(key) ?? before.then(() => begin(key, question));
    next.set(key, shared);
    return shared;
  };
}
