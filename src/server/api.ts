import type {
  GrantPasskeyAsk,
  PasskeyAsk,
  PasskeyPlace,
  SignedByPasskey,
} from '../authority/signatures/passkey-ask';
import type { ForkChange } from '../history/fork';
import type { Stats } from '../history/stats';
import type { DecidedAnswer, DecidedCall } from '../client/decided';
import type { LoggedRefusal, RefusalCounts } from './refusal-log';
import type { Answer, InboxItem, Pending, TurnsPage, TurnsQuery, TurnSummary } from '../client/types';
import type { Decision, QuestionAnswer, Resolution } from '../contract/decision';
import type { GrantOptions } from '../authority/grants/client-types';
import type { GrantSeen, GrantTerms } from '../authority/grants/grant';
import type { Condition } from '../authority/grants/narrowing';
import type { PauseAsked } from '../authority/pauses/pause';
import type { Role } from '../authority/rules/permits';
import type { JsonSchema } from '../contract/tool';
import type { ChangedTool } from '../contract/worker-tools';
import type { TurnEvent } from '../history/events';
import type { Offer, Offers } from '../history/offers';
import type { TurnView } from '../history/view-types';
import type { SessionControl } from '../contract/session';
import type { MessageMode } from '../contract/turn-states';
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
 * The messages between the page and the server, as plain JSON. Types only, so that the page can import this file.
 *
 * | route | answers |
 * |---|---|
 * | `GET /api/session` | `Session`, 401 without one; with `?quiet` the `ApiError` has no status of an error |
 * | `POST /api/session` `SignIn` | `Session` and the cookie, 401, 429 |
 * | `DELETE /api/session` | 204; `SignedOut` if an issuer signed the user in and can sign them out, too |
 * | `GET /api/inbox?` `InboxPageQuery` | `InboxPage`; 204 if the page equals the page whose `key` is `seen` |
 * | `GET /api/inbox/events` | server-sent events `waiting` with an `InboxPulse`, at the start and at each change; `trouble` with an `ApiError` while the Temporal server cannot be read, limits reading, or has not answered for 2.5 s, until the next `waiting` without `trouble` |
 * | `GET /api/turns?` `TurnsPageQuery` | `TurnsPage` |
 * | `GET /api/turns/:turn` | `TurnDetails` |
 * | `GET /api/turns/:turn/events` | server-sent events `turn` with a `TurnEvent`, id = its place in the turn; `pending` with a `Pending`, the first one after all events so far; `trouble` with an `ApiError`; `end` with `{}`, and nothing comes any more. Every connection starts the turn over, from place 0 |
 * | `GET /api/turns/:turn/calls/:callId` | `CallDetails` |
 * | `POST /api/turns/:turn/calls/:callId/open` | `string[]`: who else has the call open now. The page asks every 10 s while a request is open. Nobody, for a call that the sender has not read |
 * | `POST /api/turns/:turn/decisions` `DecisionBody` | `Answer`; 409 with the `Answer` if it was refused |
 * | `POST /api/turns/:turn/resolutions` `ResolutionBody` | `Answer`; 409 with the `Answer` if it was refused |
 * | `POST /api/turns/:turn/answers` `AnswerBody` | `Answer`; 409 with the `Answer` if it was refused |
 * | `POST /api/turns/:turn/cancel` `{reason?, abandon?}` | 204 |
 * | `POST /api/turns/:turn/forks` `ForkBody` | 201 `StartedForkAnswer` |
 * | `POST /api/turns/:turn/grant-plans` `GrantPlanBody` | `GrantPreview`: nothing is given yet |
 * | `POST /api/turns/:turn/grants` `GrantBody` | `GrantedAnswer`; 409 with the `Answer` if the approval was refused |
 * | `GET /api/grants` | `GrantRow[]`, newest first |
 * | `POST /api/grants/:grant/confirmation` `{seenDigest, grantPasskey?}` | `GrantSeen` |
 * | `POST /api/grants/:grant/revocation` `{reason?}` | `Revoked` |
 * | `GET /api/grants/:grant/fits` | `InboxItem[]`: the requests that wait and that the grant would have allowed, 50 at most |
 * | `POST /api/pauses` `PauseBody` | `PauseTaken` |
 * | `POST /api/pauses/end` `{agent?, tool?, reason?}` | the pauses that ended; only for admins |
 * | `GET /api/conversations?open=&agent=&older=&limit=` | `ConversationsPage`; 50 unless `limit` is given, and at most 200. `older` continues a page |
 * | `GET /api/conversations/:session` | `ConversationDetails` |
 * | `GET /api/conversations/:session/events` | server-sent events: `start`, with which every connection begins; `session` with a `SessionEvent`; `turn` with a `SessionTurnEvent` of the turn that runs; `text` with what its model writes; `live` once all so far was sent; `trouble` with an `ApiError`; `end` with `{}` |
 * | `POST /api/conversations/:session/messages` `MessageBody` | `SentMessage`; only with the right `converse` |
 * | `POST /api/conversations/:session/controls` `ControlBody` | 204; `resume` and `compact` only with the right `converse` |
 * | `POST /api/files` one file of at most 10 MiB as `application/octet-stream`, its name percent-encoded in `file-name` | 201 `SentFile`; only with the right `converse` |
 * | `GET /api/stats?since=&agent=&tool=&limit=` | `StatsAnswer` of the newest turns, 200 unless `limit` is given, and at most 500; `since` in milliseconds ago. The answer is at most half a minute old |
 * | `GET /api/decided?of=` | `DecidedAnswer`: what the signed-in user decided, and how it ended; `all`: what everybody decided |
 * | `GET /api/passkeys` | `PasskeyPlace`: where the signed-in user may make a passkey; 404 if the approvers file names no such place |
 * | `GET /api/push?browser=` | `PushPlace`; 404 if this web inbox does not notify browsers. `browser`: SHA-256 of its endpoint, in hex |
 * | `POST /api/push` a push subscription as a browser gives it | 204: the signed-in user is notified there |
 * | `DELETE /api/push` `{endpoint}` | 204: the signed-in user is no longer notified there |
 * | `GET /api/refusals?since=` | `Refusal[]`, newest first; `since` in milliseconds ago |
 *
 * The page names the user whom it shows as signed in, in the header `countersign-user`: 401 if that is another user.
 *
 * Every failure is an `ApiError`. `:turn` and `:callId` are whole ids. Each stream begins with an event `beat` with
 * `{at}`, the server's time, and has another one every 5 s: a stream that is silent for longer is lost.
 */
export interface ApiError {
  /** A code of CountersignError, or `unexpected`. */
  code: string;
  message: string;
  /** The advice for the person. */
  hint?: string;
  /** The milliseconds after which the server tries again by itself. */
  retryInMs?: number;
  /** Set with `signed_out`: the page at which a person signs in at the issuer. */
  signInAt?: string;
  /** Set with `signed_out`: who is signed in in this browser, if it is not the person whom the page shows. */
  signedIn?: string;
  /** Set with `signature_needed`: the same decision succeeds with a signature by a passkey of the approver. */
  passkey?: PasskeyAsk;
  /**
   * Set with `signature_needed`: the same request succeeds with a passkey signature on the grant that is given or
   * confirmed.
   */
  grantPasskey?: GrantPasskeyAsk;
}

/** The data that a browser sends to be notified. */
export interface PushPlace {
  /** Base64url of the key that messages are signed with. */
  publicKey: string;
  /** Whether the signed-in user is notified in the browser that was asked about. */
  isNotified: boolean;
}

/** A message of web push to the page's service worker. */
export interface PushMessage {
  /** The name under which the receiver is signed in. */
  user: string;
  /** A notification replaces an older one with the same tag. */
  tag: string;
  title: string;
  text: string;
  /** The place in the page, as a fragment. */
  place: string;
  turn: string;
  callId: string;
  tool: string;
  agent: string;
  /** What the call does, in one line. */
  what: string;
  /**
   * Set only if the call may be decided in the notification: the digest and key of the request that the person sees
   * there.
   */
  seen?: { seenDigest: string; callKey: string };
  /** Set if nothing waits at this place any more. */
  isOver?: true;
}

/** The signed-in user, and the web inbox. Decisions are recorded under `user`. */
export interface InboxSession {
  user: string;
  /** The user's rights, apart from looking, deciding, stopping and forking without effects. */
  rights: readonly Right[];
  /** The role that the approvers file gives the user. If the file has no roles, it is `admin` for everybody. */
  role: Role;
  /** The agents whose turns and conversations the user sees. Absent: all agents. */
  agents?: readonly string[];
  /**
   * The person that the user is in the approvers file today. Absent: the user is not in the file, or this web inbox has
   * no approvers file.
   */
  inFile?: { person: string; groups: readonly string[] };
  namespace: string;
  /** Version of the program, which the foot of the page shows. */
  version: string;
  /**
   * The milliseconds that the page waits before it sends a decision, so that the decision can be undone. 0: the page
   * does not wait.
   */
  undoMs: number;
  /** Whether there is a file store, so that messages can have files. */
  takesFiles: boolean;
}

/** The user is signed out here. At this address the issuer also signs the user out, and then sends the browser back. */
export interface SignedOut {
  signOutAt: string;
}

/** `fork-live`: start forks whose calls run. `converse`: start turns in conversations, whose calls run. */
export type Right = 'fork-live' | 'converse';

/** A user's token, or the one-time code that `countersign web` printed. */
export type SignIn = { token: string } | { code: string };

/**
 * The part of the inbox that a page wants to see, as the parameters of its URL. The server searches, filters and sorts
 * everything that was read, even if it sends only a part.
 */
export interface InboxPageQuery {
  /** Words that all occur in the id, agent, tool, summary or prompt. Upper and lower case count as the same. */
  text?: string;
  tool?: string;
  agent?: string;
  /** Only requests of a turn of this session, or of a child turn of such a turn. */
  session?: string;
  /** Only calls in doubt. */
  doubt?: '1';
  /** Only requests that the sender may decide by today's approvers file and has not voted on. */
  mine?: '1';
  /** Only requests that have waited for more than this many milliseconds. */
  olderThan?: number;
  /** The order. Calls in doubt come first in both orders. @default 'deadline' */
  sort?: 'deadline' | 'newest';
  /** @default 0 */
  offset?: number;
  /** At most 200. @default 200 */
  limit?: number;
  /** The `key` of a page that the sender already has. */
  seen?: string;
}

/** One value of a field, with the number of items in the whole inbox that have it. */
export interface NamedCount {
  name: string;
  count: number;
}

/** A part of the inbox, with exact counts for everything that was read. */
export interface InboxPage {
  rows: InboxItem[];
  /** The number of items that match, including the items that are not sent. */
  matching: number;
  /** The number of items that wait. The filter does not matter. */
  waiting: number;
  /** The number of waiting items that are calls in doubt. */
  doubts: number;
  /** False while the server is still reading, so that the counts are too low. */
  complete: boolean;
  /** Counts of everything that waits, whatever the filter. The highest count comes first. */
  tools: NamedCount[];
  agents: NamedCount[];
  /** When the server read the inbox, by its own clock, as ISO 8601. */
  at: string;
  /** A value that changes whenever a field above changes, except `at`. */
  key: string;
}

/** The part of the inbox that every page needs. It is small enough to be sent at each change. */
export interface InboxPulse extends Pick<InboxPage, 'waiting' | 'doubts' | 'complete' | 'at'> {
  /** A value that changes whenever anything in the inbox changes. A page then asks again for the part that it shows. */
  version: string;
  /** The pauses that hold calls now. Absent if nothing is paused. */
  paused?: HeldPause[];
  /**
   * Why visibility cannot be read now. Single turns may then be newer than `at`, because workers named them. Everything
   * else is as old as `at` says.
   */
  trouble?: ApiError;
}

/** A pause that holds calls, or why none may start. */
export interface HeldPause {
  text: string;
  /** The scope of the pause. Absent: nobody can end this here. */
  of?: Pick<PauseAsked, 'agent' | 'tool'>;
}

/** Pauses calls. The session names the person. */
export type PauseBody = Omit<PauseAsked, 'by'>;

export interface TurnDetails {
  view: TurnView;
  /** Every event so far. */
  events: TurnEvent[];
  pending: Pending;
}

/** The facts that a person needs to decide about one call, and what they may do about it. */
export interface CallDetails extends Offers {
  view: TurnView;
  callId: string;
  /** The schema of the arguments. Absent if history does not have it. */
  schema?: JsonSchema;
  /** The timeout of the handler, in milliseconds. Absent if history does not have it. */
  timeoutMs?: number;
  /**
   * The rule of the call, the votes, and the votes that are still needed, in words. Absent: no rule says who decides.
   */
  voting?: string;
  /** What follows for the person from their words, which the model would read. Absent: the rule does not mind. */
  afterWords?: string;
  /**
   * Set if the tool has changed since the request, so that an approved call would be refused. Absent if the tool has
   * not changed, or if this is not known.
   */
  changed?: ChangedTool['now'];
}

/**
 * The body of a decision. The session names the person who decides, and the channel. `seenDigest` and `callKey` are
 * required, so that a stale page cannot decide anything.
 */
export type DecisionBody = BodyOf<Decision, 'seenDigest' | 'callKey'> & BodyPasskey;

export type ResolutionBody = BodyOf<Resolution, 'callKey'> & BodyPasskey;

/** The signature of a passkey for a decision or a resolution. */
export interface BodyPasskey {
  passkey?: SignedByPasskey;
}

/** The signature of a passkey for a grant. */
export interface BodyGrantPasskey {
  grantPasskey?: SignedByPasskey;
}

/** Asks what a grant would allow that is given together with the approval of a call. */
export interface GrantPlanBody extends Omit<GrantOptions, 'by'> {
  callId: string;
  seenDigest: string;
}

/** A preview of a grant that nobody has given yet. */
export interface GrantPreview {
  terms: GrantTerms;
  /** What the grant would allow, in words. */
  sentence: string;
  /** The number of past calls that the grant would have covered, in words. */
  coverage: string;
  /** The people who have to confirm the grant before it allows anything, in words. Absent: nobody has to. */
  held?: string;
  /** Arguments that can be narrowed in several ways. The narrowest way comes first. */
  ways: { name: string; ways: GrantWay[] }[];
}

export interface GrantWay {
  condition: Condition;
  text: string;
}

/** A grant on record. */
export interface GrantRow extends Omit<GrantSeen, 'authority'> {
  /** What the grant allows, in words. */
  sentence: string;
  /** The values that each argument must have, in words. */
  arguments: string;
  /**
   * The people who have to confirm the grant before it allows anything, in words. Absent: the grant needs no
   * confirmation any more.
   */
  held?: string;
  /**
   * The digest that the confirmation must carry if the person who sends this request confirms. Absent: this person
   * cannot confirm the grant.
   */
  toConfirm?: string;
}

/** Approves a call as it is, and gives the grant that was shown with it. */
export interface GrantBody extends BodyGrantPasskey {
  decision: DecisionBody;
  terms: GrantTerms;
}

/** The answer if the approval was taken. The grant was given unless there is a `grantProblem`. */
export type GrantedAnswer = Exclude<Answer, { status: 'refused' }> & {
  grant?: GrantSeen;
  grantProblem?: ApiError;
};

/** A person's answer to a question. */
export type AnswerBody = BodyOf<QuestionAnswer, 'callKey'>;

/** A fork that starts at a call (`2.1`) or a step (`2`). Without `live` the fork has no effects. */
export interface ForkBody {
  at: string;
  /** The change of the fork. The session names the person who makes a changed decision. */
  change?:
    Exclude<ForkChange, { what: 'decision' }> | Omit<Extract<ForkChange, { what: 'decision' }>, 'approver'>;
  /** One of the agent's models, for the steps from that point on. */
  model?: string;
  /** Needs the right `fork-live`. Without that right the answer is 403. */
  live?: boolean;
}

export interface StartedForkAnswer {
  turn: string;
  /** The turn that was forked. */
  of: string;
}

/** A conversation, with the number of its requests and calls in doubt that wait for a person. */
export interface ConversationRow extends SessionSummary {
  asks: number;
}

/** A page of conversations. `older` is where the next page begins; null if there is none. */
export interface ConversationsPage {
  conversations: ConversationRow[];
  older: string | null;
}

export interface ConversationDetails {
  now: SessionNow;
  view: SessionView;
}

/**
 * Sends a message to a conversation. With `agent`, the message starts the conversation if it does not exist. The
 * session names the sender.
 */
export interface MessageBody extends Required<Pick<SendRequest, 'text' | 'messageId'>> {
  /** At most 8. */
  files?: readonly SentFile[];
  mode?: MessageMode;
  agent?: string;
  /** The task queue of the workers for a conversation that this message starts. */
  taskQueue?: string;
}

/** A file that was sent to the store, for a message of the same sender. */
export interface SentFile {
  file: FileRef;
  /** Proves that this user sent the file here. */
  proof: string;
}

/** Stops, pauses or closes a conversation. */
export type ControlBody = Omit<SessionControl, 'sender'>;

export interface StatsAnswer {
  stats: Stats;
  /** The number of turns that are missing from the counts because their payloads cannot be decrypted here. */
  unread: number;
  /** Counts of refused decisions and resolutions that this web inbox sent. History does not have them. */
  refusals: RefusalCounts;
  /** Whether there may be more turns than were counted. */
  isCut: boolean;
  /** When the turns were read, as ISO 8601. */
  at: string;
}

/**
 * The fields of a message that name its sender. The server sets them from the session and with the key of the web
 * inbox.
 */
type FromSession = 'approver' | 'channel' | 'authenticated' | 'signature';

/** A message as the page sends it. The fields `R` are required. */
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
  GrantPasskeyAsk,
  PasskeyAsk,
  PasskeyPlace,
  Pending,
  LoggedRefusal,
  Offer,
  SignedByPasskey,
  TurnsPage,
  TurnsQuery as TurnsPageQuery,
  TurnSummary,
};
