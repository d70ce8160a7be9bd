import type { PasskeyAsk, PasskeyPlace, SignedByPasskey } from '../contract/authority/passkeys';
import type { ForkChange } from '../history/fork';
import type { Stats } from '../history/stats';
import type { DecidedAnswer, DecidedCall } from '../client/decided';
import type { Refusal, RefusalCounts } from './refusal-log';
import type { Answer, InboxItem, Pending, TurnsPage, TurnsQuery, TurnSummary } from '../client/types';
import type { Decision, QuestionAnswer, Resolution } from '../contract/decision';
import type { GrantOptions } from '../client/control/types';
import type { GrantSeen, GrantTerms } from '../contract/control/grants';
import type { Condition } from '../contract/control/narrowing';
import type { Role } from '../contract/authority/permits';
import type { CastVote } from '../contract/authority/votes';
import type { JsonSchema } from '../contract/tool';
import type { ChangedTool } from '../contract/worker-tools';
import type { TurnEvent } from '../history/events';
import type { TurnView } from '../history/view-types';
import type { MessageMode, SessionControl } from '../contract/session';
import type { FileRef } from '../contract/session/files';
import type { SessionEvent } from '../history/session/events';
import type { SessionView } from '../history/session/view';
import type {
  SendRequest,
  SentMessage,
  SessionNow,
  SessionSummary,
  SessionTurnEvent,
} from '../client/session/types';

/**
 * What the page and the server send each other: plain JSON. Types only, so that the page can import this file.
 *
 * | route | answers |
 * |---|---|
 * | `GET /api/session` | `Session`, 401 without one |
 * | `POST /api/session` `SignIn` | `Session` and the cookie, 401, 429 |
 * | `DELETE /api/session` | 204; `SignedOut` for whom an issuer signed in that signs out as well |
 * | `GET /api/inbox?` `InboxPageQuery` | `InboxPage`; 204 where nothing of it differs from the page whose `key` is `seen` |
 * | `GET /api/inbox/events` | server-sent events `waiting` with an `InboxPulse`, at the start and at each change; `trouble` with an `ApiError` while the Temporal server cannot be read, limits reading, or has not answered for 2.5 s, until the next `waiting` |
 * | `GET /api/turns?` `TurnsPageQuery` | `TurnsPage` |
 * | `GET /api/turns/:turn` | `TurnDetails` |
 * | `GET /api/turns/:turn/events` | server-sent events `turn` with a `TurnEvent`, id = its place in the turn; `pending` with a `Pending`, the first one after all events so far; `trouble` with an `ApiError`; `end` with `{}`, and nothing comes any more. Every connection starts the turn over, from place 0 |
 * | `GET /api/turns/:turn/calls/:callId` | `CallDetails` |
 * | `POST /api/turns/:turn/decisions` `DecisionBody` | `Answer`; 409 with it when refused |
 * | `POST /api/turns/:turn/resolutions` `ResolutionBody` | `Answer`; 409 with it when refused |
 * | `POST /api/turns/:turn/answers` `AnswerBody` | `Answer`; 409 with it when refused |
 * | `POST /api/turns/:turn/cancel` `{reason?, abandon?}` | 204 |
 * | `POST /api/turns/:turn/forks` `ForkBody` | 201 `StartedForkAnswer` |
 * | `POST /api/turns/:turn/grant-plans` `GrantPlanBody` | `GrantPreview`: nothing is given yet |
 * | `POST /api/turns/:turn/grants` `GrantBody` | `GrantedAnswer`; 409 with the `Answer` when the approval is refused |
 * | `GET /api/grants` | `GrantRow[]`, the last one first |
 * | `GET /api/away` | `AwaySeen` |
 * | `POST /api/away` `{to, end, start?, reason?}` | `Away`: the sender is away |
 * | `DELETE /api/away/:id` | the `Away` that was ended |
 * | `POST /api/grants/:grant/confirmation` `{seenDigest}` | `GrantSeen` |
 * | `POST /api/grants/:grant/revocation` `{reason?}` | `Revoked` |
 * | `GET /api/conversations?open=&agent=&limit=` | `ConversationRow[]`, newest first; 50 where no limit is given and never over 200 |
 * | `GET /api/conversations/:session` | `ConversationDetails` |
 * | `GET /api/conversations/:session/events` | server-sent events: `start`, with which every connection begins; `session` with a `SessionEvent`; `turn` with a `SessionTurnEvent` of the turn that runs; `text` with what its model writes; `live` once all so far was sent; `trouble` with an `ApiError`; `end` with `{}` |
 * | `POST /api/conversations/:session/messages` `MessageBody` | `SentMessage`; only with the right `converse` |
 * | `POST /api/conversations/:session/controls` `ControlBody` | 204; `resume` and `compact` only with the right `converse` |
 * | `POST /api/files` one file of at most 10 MiB as `application/octet-stream`, its name percent-encoded in `file-name` | 201 `SentFile`; only with the right `converse` |
 * | `GET /api/stats?since=&agent=&tool=&limit=` | `StatsAnswer` of the newest turns, 200 where no limit is given and never over 500; `since` in milliseconds ago. Half a minute old at most |
 * | `GET /api/decided` | `DecidedAnswer`: what the signed-in user decided, and how it ended |
 * | `GET /api/passkeys` | `PasskeyPlace`: where the signed-in user may make a passkey; 404 where the approvers file has none |
 * | `GET /api/push?browser=` | `PushPlace`; 404 where no browser is notified from here. `browser`: SHA-256 of its endpoint, in hex |
 * | `POST /api/push` a push subscription as a browser gives it | 204: the signed-in user is notified there |
 * | `DELETE /api/push` `{endpoint}` | 204: they no longer are |
 * | `GET /api/refusals?since=` | `Refusal[]`, the last one first; `since` in milliseconds ago |
 *
 * Every failure is an `ApiError`. `:turn` and `:callId` are whole ids. Each stream begins with an event `beat` with `{at}`,
 * the server's time, and has another one every 5 s: a stream that is silent for longer is lost.
 */
export interface ApiError {
  /** A code of CountersignError, or `unexpected`. */
  code: string;
  message: string;
  /** What to do. */
  hint?: string;
  /** The server tries again by itself in so many milliseconds. */
  retryInMs?: number;
  /** With `signed_out`: the page at which a person signs in at the issuer. */
  signInAt?: string;
  /** With `signature_needed`: the same decision with what a passkey of the approver signs will do. */
  passkey?: PasskeyAsk;
}

/** How a browser asks to be notified. */
export interface PushPlace {
  /** Base64url of the key that messages are signed with. */
  publicKey: string;
  /** Whether the signed-in user is notified in the browser that was asked about. */
  isNotified: boolean;
}

/** What a message of web push says to the page's service worker. */
export interface PushMessage {
  /** Whom it is for, as they are signed in. */
  user: string;
  /** A notification replaces an older one that has the same. */
  tag: string;
  title: string;
  text: string;
  /** Where it is in the page: a fragment. */
  place: string;
  turn: string;
  callId: string;
  tool: string;
  agent: string;
  /** Only where it may be decided in the notification: what the person sees there. */
  seen?: { seenDigest: string; callKey: string };
  /** Nothing waits there any more. */
  isOver?: true;
}

/** Who is signed in, and where. Decisions are recorded under `user`. */
export interface Session {
  user: string;
  /** What the user may do besides looking, deciding, stopping and forking without effects. */
  rights: readonly Right[];
  /** What the approvers file lets the user do; `admin` for everybody where it does not say. */
  role: Role;
  /** The agents whose turns and conversations the user sees; absent: all. */
  agents?: readonly string[];
  /** Who the user is in the approvers file today; absent: nobody there, or there is no such file here. */
  inFile?: { person: string; groups: readonly string[] };
  namespace: string;
  /** Version of the program, shown in the foot of the page. */
  version: string;
  /** How long the page waits before it sends a decision, so that it can be undone; 0: not at all. Milliseconds. */
  undoMs: number;
  /** There is a store, so that messages can have files. */
  takesFiles: boolean;
}

/** They are signed out here. At this address of the issuer they sign out there, and come back. */
export interface SignedOut {
  signOutAt: string;
}

/** `fork-live`: start forks whose calls run. `converse`: start turns in conversations, whose calls run. */
export type Right = 'fork-live' | 'converse';

/** A user's token, or the one-time code that `countersign web` printed. */
export type SignIn = { token: string } | { code: string };

/** The first requests and calls in doubt that match the filter, as the page keeps them. */
export interface InboxSnapshot {
  items: InboxItem[];
  /** How many wait in all turns, whatever the filter. */
  total: number;
  /** When the server read it; ISO 8601. */
  at: string;
}

/**
 * What of the inbox a page wants to see, as the parameters of its URL. All of what was read is searched, filtered and
 * sorted, whatever is sent of it.
 */
export interface InboxPageQuery {
  /** Words, each of which stands in the id, agent, tool, summary or prompt; upper and lower case are the same. */
  text?: string;
  tool?: string;
  agent?: string;
  /** Only what a turn of this session, or a child turn of one, asks. */
  session?: string;
  /** Only calls in doubt. */
  doubt?: '1';
  /** Only what the sender may decide, by today's approvers file, and has not voted on. */
  mine?: '1';
  /** Only what expires within so many milliseconds. */
  dueWithin?: number;
  /** Only what has waited longer than so many milliseconds. */
  olderThan?: number;
  /** Calls in doubt come first in both. @default 'deadline' */
  sort?: 'deadline' | 'newest';
  /** @default 0 */
  offset?: number;
  /** At most 200. @default 200 */
  limit?: number;
  /** The `key` of a page that is there already. */
  seen?: string;
}

/** One value of a field, and how many items of the whole inbox have it. */
export interface NamedCount {
  name: string;
  count: number;
}

/** A part of the inbox, and exact counts for what is read. */
export interface InboxPage {
  rows: InboxItem[];
  /** How many match, sent or not. */
  matching: number;
  /** How many wait, whatever the filter. */
  waiting: number;
  /** How many of those are calls in doubt. */
  doubts: number;
  /** False while the server is still reading: the counts are too low then. */
  complete: boolean;
  /** Of all that wait, whatever the filter; most first. */
  tools: NamedCount[];
  agents: NamedCount[];
  /** When the server read it, by its own clock; ISO 8601. */
  at: string;
  /** Changes with everything above but `at`. */
  key: string;
}

/** What of the inbox every page needs, small enough to be sent at each change. */
export interface InboxPulse extends Pick<InboxPage, 'waiting' | 'doubts' | 'complete' | 'at'> {
  /** Changes with everything in the inbox: a page then asks for what it shows. */
  version: string;
  /** What holds calls now, in words; absent where nothing does. */
  paused?: string[];
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
  /** Who decides it, who has, and what is missing, in words. Absent: no rule says who decides. */
  voting?: string;
  /** The vote of who asks. They may withdraw it until the last one is there. Absent: they have none. */
  ownVote?: CastVote['decision'];
  /** Who asks may have it asked about anew, which voids its votes. */
  mayAskAgain?: true;
  /** Set when its tool has changed since: an approved call would be refused. Absent when it has not, or when this is not known. */
  changed?: ChangedTool['now'];
}

/** The session says who decides and by which channel. `seenDigest` and `callKey` are required, so that a stale page decides nothing. */
export type DecisionBody = BodyOf<Decision, 'seenDigest' | 'callKey'> & BodyPasskey;

export type ResolutionBody = BodyOf<Resolution, 'callKey'> & BodyPasskey;

/** What a passkey signed of a decision or a resolution. */
export interface BodyPasskey {
  passkey?: SignedByPasskey;
}

/** Asks what a grant beside the approval of a call would allow. */
export interface GrantPlanBody extends Omit<GrantOptions, 'by'> {
  callId: string;
  seenDigest: string;
}

/** What a grant would allow, before anybody gives it. */
export interface GrantPreview {
  terms: GrantTerms;
  /** What it allows, in words. */
  sentence: string;
  /** How many past calls it would have covered, in words. */
  coverage: string;
  /** Who has to confirm it before it allows anything, in words. Absent: nobody. */
  held?: string;
  /** Arguments that may be narrowed less: each has several ways, the narrowest first. */
  ways: { name: string; ways: GrantWay[] }[];
}

export interface GrantWay {
  condition: Condition;
  text: string;
}

/** A grant that there is. */
export interface GrantRow extends Omit<GrantSeen, 'authority'> {
  /** What it allows, in words. */
  sentence: string;
  /** What each argument has to be, in words. */
  arguments: string;
  /** Who has to confirm it before it allows anything, in words. Absent: it allows what it says. */
  held?: string;
  /** What goes with the confirmation of who asks. Absent: they have none to give. */
  toConfirm?: string;
}

/** Approves a call as it is, and gives the grant that was shown. */
export interface GrantBody {
  decision: DecisionBody;
  terms: GrantTerms;
}

/** The approval was taken. The grant is given where there is no `grantProblem`. */
export type GrantedAnswer = Exclude<Answer, { status: 'refused' }> & {
  grant?: GrantSeen;
  grantProblem?: ApiError;
};

/** What a person says to a question. */
export type AnswerBody = BodyOf<QuestionAnswer, 'callKey'>;

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

/** A conversation, and how many requests and calls in doubt of it wait for a person. */
export interface ConversationRow extends SessionSummary {
  asks: number;
}

export interface ConversationDetails {
  now: SessionNow;
  view: SessionView;
}

/** Says something in a conversation; with `agent` it starts where it does not exist. The session says who says it. */
export interface MessageBody extends Required<Pick<SendRequest, 'text' | 'messageId'>> {
  /** At most 8. */
  files?: readonly SentFile[];
  mode?: MessageMode;
  agent?: string;
  /** Of the workers that run a conversation which this starts. */
  taskQueue?: string;
}

/** A file that was sent to the store, for a message of whoever sent it. */
export interface SentFile {
  file: FileRef;
  /** That this user sent it here. */
  proof: string;
}

/** Stops, pauses or closes a conversation. */
export type ControlBody = Omit<SessionControl, 'sender'>;

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

/** The fields of a message that say who sent it. They come from the session, and from the web inbox's key. */
export type FromSession = 'approver' | 'channel' | 'authenticated' | 'signature';

/** A message as the page sends it; the fields `R` are required. */
export type BodyOf<M, R extends keyof M> = Omit<M, FromSession | R> & Required<Pick<M, R>>;

export type {
  Answer,
  SentMessage,
  SessionEvent,
  SessionTurnEvent,
  SessionView,
  DecidedAnswer,
  DecidedCall,
  GrantSeen,
  InboxItem,
  PasskeyAsk,
  PasskeyPlace,
  Pending,
  Refusal,
  SignedByPasskey,
  TurnsPage,
  TurnsQuery as TurnsPageQuery,
  TurnSummary,
};
