import { sessionNotFound } from '../client/session/reader';
import type { Session, SessionOptions } from '../client/session/types';
import { CountersignError } from '../contract/errors';
import { turnNotFound, unlessGone } from '../history/server-errors';
import type { Countersign } from '../client/countersign';
import { type Permit, isSeenBy } from '../authority/rules/permits';
import { noGrantText } from '../authority/grants/grant';

/** Operations on the turn that their first argument names. */
const ON_TURN = [
  ...(['agentsOf', 'timeline', 'view', 'pendingActivities', 'changedTools'] as const),
  ...(['decide', 'resolve', 'answer', 'cancel', 'abandon'] as const),
] satisfies OnTurn[];
/** Of these, each has its own rule. */
const OTHERS = [
  ...(['namespace', 'placeOf', 'find', 'follow', 'turns', 'list'] as const),
  ...(['sessions', 'session', 'fork'] as const),
];
const ON_GRANTS = ['give', 'confirm', 'list', 'revoke'] as const;
/** Operations on the conversation itself. */
const ON_SESSION = ['history', 'state', 'pause', 'resume', 'cancelTurn', 'compact', 'close'] as const;

type OnTurn = {
  [K in keyof Countersign]: Countersign[K] extends (turn: string, ...rest: never[]) => Promise<unknown>
    ? K
    : never;
}[keyof Countersign];

/** Everything that the web inbox can read and do with turns and conversations, limited to the permit of one person. */
export type Reader = Pick<Countersign, (typeof ON_TURN)[number] | (typeof OTHERS)[number]> & {
  grants: Pick<Countersign['grants'], (typeof ON_GRANTS)[number]>;
};

/** Makes the reader for a permit. Two people who see the same turns share the data that is read. */
type ReaderOf = (permit: Pick<Permit, 'agents'>) => Reader;

/**
 * The only place where the web inbox limits what a person sees. Turns and conversations of agents that the person may
 * not see appear not to exist. The same goes for turns that such an agent's turn started.
 */
export function createReaders(client: Reader): ReaderOf {
  const turns = createShared((query: Parameters<Reader['turns']>[0]) => client.turns(query));
  const sessions = createShared((query: Parameters<Reader['sessions']>[0]) => client.sessions(query));
  const shared = only(client, [...ON_TURN, ...OTHERS], {
    own: { turns, sessions, grants: only(client.grants, ON_GRANTS) },
  });
  return ({ agents }) => (agents === 'all' ? shared : scoped(shared, agents));
}

/**
 * The listed members of an object and those of `own`, and nothing else: a member that nobody thought of cannot be
 * reached. `check` runs before each listed operation, with its first argument. If it throws, the operation does not
 * run.
 */
function only<T extends object>(
  target: T,
  names: readonly (keyof T)[],
  { own = {}, check }: { own?: Partial<T>; check?: (id: string) => Promise<unknown> } = {},
): T {
  const get = (_: object, name: string | symbol): unknown => {
    if (Object.hasOwn(own, name)) return Reflect.get(own, name);
    const member: unknown = names.some((one) => one === name) ? Reflect.get(target, name) : undefined;
    if (typeof member !== 'function') return member;
    if (check === undefined) return member.bind(target);
    return async (id: string, ...rest: unknown[]): Promise<unknown> => {
      await check(id);
      return Reflect.apply(member, target, [id, ...rest]);
    };
  };
  return new Proxy<T>(Object.create(null), { get });
}

function scoped(client: Reader, agents: readonly string[]): Reader {
  /** @throws CountersignError `not_found`, as for a turn that does not exist. */
  const seen = async (turn: string) => {
    if (isSeenBy({ agents }, await client.agentsOf(turn))) return turn;
    throw turnNotFound(turn);
  };
  const own: Omit<Reader, (typeof ON_TURN)[number]> = {
    namespace: client.namespace,
    placeOf: (view) => client.placeOf(view),
    // Only the complete id is found, because a prefix would otherwise reveal an id.
    find: seen,
    follow: (turn, options) =>
      after(
        () => seen(turn),
        () => client.follow(turn, options),
      ),
    turns: (query) => client.turns({ ...query, agents }),
    list: (query) => client.list({ ...query, agents }),
    sessions: async (query) =>
      agents.length === 0 ? { sessions: [], older: null } : client.sessions({ ...query, agents }),
    session: (id, options) => scopedSession(client, agents, { id, options }),
    fork: async ({ turn, ...request }) => {
      // A fork without a turn would read an exported history, which names its agent itself.
      if (turn === undefined) throw new CountersignError('usage', 'a fork needs the turn that it is of');
      return client.fork({ ...request, turn: await seen(turn) });
    },
    grants: scopedGrants(client, agents),
  };
  return only(client, ON_TURN, { own, check: seen });
}

function scopedGrants({ grants }: Reader, agents: readonly string[]): Reader['grants'] {
  const list: Reader['grants']['list'] = async () => {
    const found = await grants.list();
    return { ...found, grants: found.grants.filter((grant) => isSeenBy({ agents }, grant)) };
  };
  const requireSeen = async (id: string) => {
    if ((await list()).grants.some((one) => one.id === id)) return;
    throw new CountersignError('not_found', noGrantText(id));
  };
  return {
    list,
    give: async (asked) => {
      if (isSeenBy({ agents }, asked)) return grants.give(asked);
      throw new CountersignError('refused', `there is no agent ${asked.agent} here`);
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
  /** @throws CountersignError `not_found`, as for a session that does not exist. */
  const seen = async () => {
    if (!isSeenBy({ agents }, await session.state())) throw sessionNotFound(session.id);
    return session;
  };
  /** Returns the session. If a message would start it, the person has to see its agent. */
  const open = async () => {
    const { agent } = options ?? {};
    if (agent === undefined) return seen();
    const now = await unlessGone(session.state());
    if (!isSeenBy({ agents }, { agent }) || (now && !isSeenBy({ agents }, now)))
      throw sessionNotFound(session.id);
    return session;
  };
  const own: Omit<Session, (typeof ON_SESSION)[number]> = {
    id: session.id,
    send: async (message) => (await open()).send(message),
    follow: (how) => after(seen, () => session.follow(how)),
    followWithText: (how) => after(seen, () => session.followWithText(how)),
  };
  return only(session, ON_SESSION, { own, check: seen });
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
  const begin = (key: string, question: Q) => {
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
