import type { ForkChange } from '../history/fork';
import type { Stats } from '../history/stats';
import type { RefusalCounts } from './refusals/log';
import type { Answer, InboxItem, Pending, TurnSummary } from '../client/types';
import type { Decision, Resolution } from '../contract/decision';
import type { JsonSchema } from '../contract/tool';
import type { TurnEvent } from '../history/events';
import type { TurnView } from '../history/view-types';

/**
 * What the page and the server say to each other: plain JSON, types only, so that the page can import this file.
 *
 * | route | answers |
 * |---|---|
 * | `GET /api/session` | `Session`, 401 without one |
 * | `POST /api/session` `SignIn` | `Session` and the cookie, 401, 429 |
 * | `DELETE /api/session` | 204 |
 * | `GET /api/inbox?tool=&agent=&olderThan=` | `InboxSnapshot`; `olderThan` in milliseconds |
 * | `GET /api/inbox/events` | server-sent events `inbox` with an `InboxSnapshot`, each whole, so that a reconnect loses and doubles nothing; `trouble` with an `ApiError` while the Temporal server cannot be read or has not answered for 2.5 s, until the next `inbox` |
 * | `GET /api/turns?state=&agent=&search=&limit=` | `TurnSummary[]`, newest first; `search`: beginning of the id, or part of the prompt |
 * | `GET /api/turns/:turn` | `TurnDetails` |
 * | `GET /api/turns/:turn/events` | server-sent events `turn` with a `TurnEvent`, id = its place in the turn; `pending` with a `Pending`; `trouble` with an `ApiError`; `end` with `{}`, and nothing comes any more. Every connection tells the turn from place 0 on, which starts it over |
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
  namespace: string;
  /** Version of the program, shown in the foot of the page. */
  version: string;
}

/** A user's token, or the one-time code that `countersign web` printed. */
export type SignIn = { token: string } | { code: string };

/** Requests and calls in doubt that fit the filter, earliest deadline first; the first 500 of them. */
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
  /** The schema its arguments must fit; absent where the record has none. */
  schema?: JsonSchema;
  /** Milliseconds after which the handler is ended; absent where the record has none. */
  timeoutMs?: number;
}

/** Who decides and by which channel comes from the session, never from here. `argsDigest` and `callKey` are required: a stale page never decides. */
export type DecisionBody = Omit<Decision, FromSession | 'argsDigest' | 'callKey'> &
  Required<Pick<Decision, 'argsDigest' | 'callKey'>>;

export type ResolutionBody = Omit<Resolution, FromSession | 'callKey'> &
  Required<Pick<Resolution, 'callKey'>>;

/** A fork to start. `at`: a call (`2.1`) or a step (`2`). Dry unless `live` says otherwise. */
export interface ForkBody {
  at: string;
  /** Who decides otherwise comes from the session. */
  change?:
    Exclude<ForkChange, { what: 'decision' }> | Omit<Extract<ForkChange, { what: 'decision' }>, 'approver'>;
  /** One of the agent's models, for the steps from there on. */
  model?: string;
  live?: boolean;
}

export interface StartedForkAnswer {
  turn: string;
  /** The turn it was forked from. */
  of: string;
}

export interface StatsAnswer {
  stats: Stats;
  /** Decisions and resolutions that this desk sent and that were refused; history has none of them. */
  refusals: RefusalCounts;
  /** There may be more turns than were counted. */
  isCut: boolean;
  /** When it was read; ISO 8601. */
  at: string;
}

type FromSession = 'approver' | 'channel' | 'authenticated';

export type { Answer, InboxItem, Pending, TurnSummary };
