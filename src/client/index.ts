/**
 * For programs that start turns or approve calls: start turns, follow them, decide on their requests.
 * Loads nothing native. Needs no worker, only a connection to the Temporal server.
 */
export { connect } from './connect';
export type { Countersign } from './countersign';
export { loadEncryption, type Encryption } from '../encryption/load';
export type { EncryptionOptions } from '../encryption/keys';
export { CountersignError, ERROR_CODES, type ErrorCode } from '../contract/errors';
export type { Whom } from '../authority/votes/waits-for';
export type { FollowOptions, InboxQuery, StartRequest } from './requests';
export type { FileRef } from '../contract/session/files';
export type { NewFile } from '../store/stored-file';
export type {
  Answer,
  Build,
  BuildId,
  Builds,
  ConnectOptions,
  Drained,
  DrainOptions,
  ForkTurnRequest,
  InboxItem,
  InboxReader,
  ListQuery,
  Pending,
  PendingActivity,
  FailingTask,
  ResetReason,
  StartedFork,
  RunQuery,
  RunSummary,
  ScheduleRequest,
  Schedules,
  StartedTurn,
  TakenAnswer,
  TurnsPage,
  TurnsQuery,
  TurnSummary,
  Waiting,
  WaitingStep,
} from './types';
export type { StreamPlace } from '../contract/streamed-text';
export type { OverlapPolicy, ScheduleSummary, ScheduleTimes } from './schedule-types';
export type {
  Abandonment,
  Accepted,
  Decision,
  QuestionAnswer,
  Refused,
  RefusalCode,
  Resolution,
  Verdict,
} from '../contract/decision';

export type {
  GrantAsked,
  GrantSeen,
  GrantsSeen,
  GrantTerms,
  RevokeAsked,
  Revoked,
} from '../authority/grants/grant';
export type { Condition, Narrowing } from '../authority/grants/narrowing';
export type { ConfirmAsked } from '../authority/grants/confirmations';
export type {
  ConfirmationPlan,
  GrantCoverage,
  GrantOptions,
  GrantPlan,
  Grants,
} from '../authority/grants/client-types';
export type { Pause, PauseAsked, Pauses, PauseTaken, ResumeAsked } from '../authority/pauses/pause';
export type { TextDelta } from '../contract/streamed-text';
export type { TurnEvent } from '../history/events';
export type {
  SendRequest,
  SentMessage,
  Session,
  SessionAct,
  SessionNow,
  SessionOptions,
  SessionsPage,
  SessionsQuery,
  SessionSummary,
  SessionText,
  SessionTurnEvent,
} from './session/types';
export type { FollowedEvent } from './session/follow';
export type { SessionEvent, SessionTurn } from '../history/session/events';
export type { SessionView } from '../history/session/view';
export type { ForkChange, ForkRequest, GivenReply } from '../history/fork';
export type { ResetCall, ResetOutcome, ResetPlan } from '../history/reset';
export { createView, viewOf, type CallView, type StepView, type TurnView } from '../history/view';
export { turnEventsOfJson } from '../history/exported';
export { stateAt, stateAfter, type TurnMoment } from '../history/moment';
export { timelineOf, type Timeline, type TimelineCall, type TimelineStep } from '../history/timeline';
