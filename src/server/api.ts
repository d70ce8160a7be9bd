import type { ForkChange } from '../history/fork';
import type { Stats } from '../history/stats';
import type { RefusalCounts } from './refusal-log';
import type { Answer, InboxItem, Pending, TurnSummary } from '../client/types';
import type { Decision, Resolution } from '../contract/decision';
import type { JsonSchema } from '../contract/tool';
import type { ChangedTool } from '../contract/worker-tools';
import type { TurnEvent } from '../history/events';
import type { TurnView } from '../history/view-types';

/**
 * What the page and the server send each other: plain JSON. Types only, so that the page can import this file.
 *
 * | route | answers |
 * |---|---|
 * | `GET /api/session` | `Session`, 401 without one |
 * | `POST /api/session` `SignIn` | `Session` and the cookie, 401, 429 |
 * | `DELETE /api/session` | 204 |
 * | `GET /api/inbox?tool=&agent=&olderThan=` | `InboxSnapshot`; `olderThan` in milliseconds |
 * | `GET /api/inbox/events` | server-sent events `inbox` with an `InboxSnapshot`, each complete, so that a reconnect neither loses nor repeats anything; `trouble` with an `ApiError` while the Temporal server cannot be read or has not answered for 2.5 s, until the next `inbox` |
 * | `GET /api/turns?state=&agent=&search=&limit=` | `TurnSummary[]`, newest first; `search`: beginning of the id, or part of the prompt |
 * | `GET /api/turns/:turn` | `TurnDetails` |
 * | `GET /api/turns/:turn/events` | server-sent events `turn` with a `TurnEvent`, id = its place in the turn; `pending` with a `Pending`; `trouble` with an `ApiError`; `end` with `{}`, and nothing comes any more. Every connection starts the turn over, from place 0 |
 * | `GET /api/turns/:turn/calls/:callId` | `CallDetails` |
 * | `POST /api/turns/:turn/decisions` `DecisionBody` | `Answer`; 409 with it when refused |
 * | `POST /api/turns/:turn/resolutions` `ResolutionBody` | `Answer`; 409 with it when refused |
 * | `POST /api/turns/:turn/cancel` `{reason?, abandon?}` | 204 |
 * | `POST /api/turns/:turn/forks` `ForkBody` | 201 `StartedForkAnswer` |
 * | `GET /api/stats?since=&agent=&tool=&limit=` | `StatsAnswer` of the newest turns, 200 where no limit is given and never over 500; `since` in milliseconds ago. Half a minute old at most |
 *
 * Every failure is an `ApiError`. `:turn` and `:callId` are whole ids.
 */
export interface ApiError {
  /** A code of CountersignError, or `unexpected`. */
  code: string;
  message: string;
  /** What to do. */
  hint?: string;
}

/** Who is signed in, and where. Decisions are recorded under `user`. */
export interface Session {
  user: string;
  /** What the user may do besides looking, deciding and forking without effects. */
  rights: readonly Right[];
  namespace: string;
  /** Version of the program, shown in the foot of the page. */
  version: string;
}

/** `fork-live`: start forks whose calls run. */
export type Right = 'fork-live';

/** A user's token, or the one-time code that `countersign web` printed. */
export type SignIn = { token: string } | { code: string };

/** The first 500 requests and calls in doubt that match the filter, earliest deadline first. */
export interface InboxSnapshot {
  items: InboxItem[];
  /** How many wait in all turns, whatever the filter. */
  total: number;
  /** When the server read it; ISO 8601. */
  at: string;
}

export interface TurnDetails {
  view: TurnView;
  /** Every event so far. */
  events: TurnEvent[];
  pending: Pending;
}

/** What a person needs to decide about one call. */
export interface CallDetails {
  view: TurnView;
  callId: string;
  /** The schema of its arguments; absent when the history has none. */
  schema?: JsonSchema;
  /** The timeout of the handler, in milliseconds; absent when the history has none. */
  timeoutMs?: number;
  /** Set when its tool has changed since: an approved call would be refused. Absent when it has not, or when this is not known. */
  changed?: ChangedTool['now'];
}

/** The session says who decides and by which channel. `seenDigest` and `callKey` are required, so that a stale page decides nothing. */
export type DecisionBody = BodyOf<Decision, 'seenDigest' | 'callKey'>;

export type ResolutionBody = BodyOf<Resolution, 'callKey'>;

/** A fork to start at a call (`2.1`) or a step (`2`). It has no effects unless `live` is set. */
export interface ForkBody {
  at: string;
  /** The session says who decides differently. */
  change?:
    Exclude<ForkChange, { what: 'decision' }> | Omit<Extract<ForkChange, { what: 'decision' }>, 'approver'>;
  /** One of the agent's models, for the steps from there on. */
  model?: string;
  /** Only with the right `fork-live`; 403 without it. */
  live?: boolean;
}

export interface StartedForkAnswer {
  turn: string;
  /** The turn it was forked from. */
  of: string;
}

export interface StatsAnswer {
  stats: Stats;
  /** Turns that are not counted because their payloads cannot be decrypted here. */
  unread: number;
  /** Refused decisions and resolutions that this web inbox sent. History has none of them. */
  refusals: RefusalCounts;
  /** There may be more turns than were counted. */
  isCut: boolean;
  /** When it was read; ISO 8601. */
  at: string;
}

/** The fields of a message that say who sent it. They come from the session. */
export type FromSession = 'approver' | 'channel' | 'authenticated';

/** A message as the page sends it; the fields `R` are required. */
export type BodyOf<M, R extends keyof M> = Omit<M, FromSession | R> & Required<Pick<M, R>>;

export type { Answer, InboxItem, Pending, TurnSummary };
