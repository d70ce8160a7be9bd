import { type RawValue, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  condition,
  continueAsNew,
  isCancellation,
  ParentClosePolicy,
  scheduleActivity,
  setCurrentDetails,
  setHandler,
  startChild,
  TerminatedFailure,
  TimeoutFailure,
  upsertMemo,
  workflowInfo,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';
import { defined } from '../contract/defined';
import { errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';
import { LIMITS, TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds, MEMO, SIGNALS, WORKFLOWS } from '../contract/names';
import {
  entriesOf,
  type HeldMessage,
  type MessageTaken,
  noteOf,
  readRecord,
  recordEntries,
  type SessionInput,
  type SessionMemo,
  type SessionRefused,
  type SessionResult,
  type SessionState,
  type SessionTurnEnd,
  turnIdIn,
  type TurnRecord,
} from '../contract/session';
import { pageOf } from '../contract/transcript';
import { startOf, type TurnInput } from '../contract/turn';
import type { agentTurn } from './agent-turn';
import { checkStart } from './check-start';
import { MessageQueue } from './message-queue';
import * as messages from './messages';
import {
  beginTurn,
  carriedSession,
  endTurn,
  isSessionInput,
  judgeMessage,
  makeSession,
  readControl,
  repeatedMessage,
  type RunningTurn,
  type Session,
  takeControl,
  takeMessage,
} from './session-state';
import { MOST_ASKED } from './think';

/**
 * A conversation: takes messages and runs a turn for each, one at a time. It remembers what its turns said and did, and
 * continues as new between turns. It closes as Completed once somebody closed it, or as Cancelled.
 */
export async function agentSession(input: SessionInput): Promise<SessionResult> {
  checkStart('session', input, isSessionInput);
  const queue = new MessageQueue();
  const run = new SessionRun(makeSession(input), queue);
  run.setHandlers();
  CancellationScope.current().cancelRequested.catch(() => run.cancel());
  return CancellationScope.nonCancellable(() => run.work());
}

type Turn = ChildWorkflowHandle<typeof agentTurn>;

/** One run of a session. */
class SessionRun {
  /** Messages that came in this run. */
  private came = 0;
  private cancelled = false;
  private child: Turn | undefined;
  private scope: CancellationScope | undefined;
  /** How many messages for the running turn were sent to it. */
  private steered = 0;
  /** Turns that ended in this run. */
  private turnsHere = 0;
  private refused: NonNullable<SessionMemo['refused']> = [];
  private text = '';
  private published = '';

  constructor(
    private readonly session: Session,
    private readonly queue: MessageQueue,
  ) {}

  setHandlers(): void {
    const { session, queue } = this;
    setHandler(
      messages.sendUpdate,
      (message) => queue.answer(messages.weightOf(message), () => this.taken(this.receive(message))),
      {
        validator: (message) => void this.taken(this.judge(message)),
        description: 'Say something: queue, interrupt or steer',
      },
    );
    setHandler(
      messages.sendSignal,
      (message) =>
        queue.add({
          weight: messages.weightOf(message),
          judge: () => this.note(message, this.receive(message)),
        }),
      { description: 'Say something when no worker is up' },
    );
    setHandler(
      messages.controlUpdate,
      (message) => queue.answer(messages.weightOf(message), () => void this.taken(this.control(message))),
      {
        validator: (message) => void this.taken(this.readControl(message)),
        description: 'Pause, resume or close the session, or cancel its turn',
      },
    );
    setHandler(
      messages.controlSignal,
      (message) =>
        queue.add({
          weight: messages.weightOf(message),
          judge: () => this.note(message, this.control(message)),
        }),
      { description: 'Pause, resume or close the session, or cancel its turn, when no worker is up' },
    );
    setHandler(
      messages.transcriptQuery,
      (message) => pageOf(entriesOf(session), messages.firstAsked(message)),
      {
        description: 'What was said before the running turn, a page at a time',
      },
    );
  }

  /** Closes the session and cancels its turn. */
  cancel(): void {
    this.cancelled = true;
    takeControl(this.session, { action: 'close', cancel: true });
    this.changed();
  }

  /** Runs turns until the session is closed, or continues as new. */
  async work(): Promise<SessionResult> {
    for (;;) {
      const { session } = this;
      const running = beginTurn(session, (n) => turnIdIn(workflowInfo().workflowId, n));
      if (running !== undefined) await this.runTurn(running);
      else if (session.closing) return await this.end();
      else if (this.mustContinue()) await this.continue();
      else {
        this.publish();
        await condition(() => this.canGoOn());
      }
    }
  }

  private canGoOn(): boolean {
    const { closing, paused, waiting } = this.session;
    return closing || (waiting.length > 0 && !paused) || this.mustContinue();
  }

  private judge(message: RawValue): MessageTaken | SessionRefused | undefined {
    const read = messages.readMessage(message, messages.SEND_BOUNDS);
    if (!read.ok) return { accepted: false, code: 'malformed', message: read.message };
    const judged = judgeMessage(this.session, read.value);
    return judged.kind === 'refuse' ? judged.refused : undefined;
  }

  private receive(message: RawValue): MessageTaken | SessionRefused {
    const read = messages.readMessage(message, messages.SEND_BOUNDS);
    if (!read.ok) return { accepted: false, code: 'malformed', message: read.message };
    const judged = judgeMessage(this.session, read.value);
    const at = new Date(Date.now()).toISOString();
    if (judged.kind === 'refuse') return judged.refused;
    if (judged.kind === 'repeat') return repeatedMessage(this.session, judged.message, at);
    const taken = takeMessage(this.session, judged.message, at);
    this.changed();
    return taken;
  }

  private readControl(message: RawValue) {
    const read = messages.readMessage(message, messages.CONTROL_BOUNDS);
    return readControl(read.ok ? read.value : undefined);
  }

  private control(message: RawValue): SessionRefused | undefined {
    const control = this.readControl(message);
    if ('accepted' in control) return control;
    takeControl(this.session, control);
    this.changed();
    return undefined;
  }

  /** Thrown in a validator a refusal leaves nothing in history, and the sender gets the answer at once. */
  private taken<T>(answer: T | SessionRefused): T {
    if (isRefused(answer)) {
      const { code, message } = answer;
      throw ApplicationFailure.create({ type: code, message, nonRetryable: true, details: [answer] });
    }
    return answer;
  }

  /** A signal has no answer: what was refused is shown in the memo. */
  private note(message: RawValue, answer: MessageTaken | SessionRefused | undefined): void {
    if (answer === undefined || answer.accepted) return;
    const read = messages.readMessage(message, messages.SEND_BOUNDS);
    const messageId = read.ok && isObject(read.value) ? read.value['messageId'] : undefined;
    const id = typeof messageId === 'string' ? messageId.slice(0, 64) : undefined;
    this.refused = [
      ...this.refused.slice(1 - LIMITS.memoVerdicts),
      { code: answer.code, ...defined({ messageId: id }) },
    ];
    this.publish();
  }

  /** Something that a person said or did: passes it on to the running turn. */
  private changed(): void {
    this.came += 1;
    const { running } = this.session;
    if (running?.cancelling === true) this.scope?.cancel();
    if (running !== undefined) this.steer(running);
    // Between turns the main loop goes on, and publishes.
    if (running !== undefined || this.session.paused) this.publish();
  }

  private steer({ steering }: RunningTurn): void {
    const { child } = this;
    if (child === undefined) return;
    for (const { messageId, text } of steering.slice(this.steered)) {
      this.steered += 1;
      // A turn that has ended did not take it up: then it is queued.
      child.signal(SIGNALS.words, { messageId, text }).catch(() => undefined);
    }
  }

  /** Starts a turn and waits for its end. */
  private async runTurn(running: RunningTurn): Promise<void> {
    this.steered = 0;
    this.text = running.message.text.slice(0, LIMITS.promptCharacters);
    this.scope = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
    this.publish();
    const { record, status } = await this.outcomeOf(running, this.scope);
    this.child = undefined;
    this.scope = undefined;
    this.turnsHere += 1;
    endTurn(this.session, record, status);
  }

  private async outcomeOf(running: RunningTurn, scope: CancellationScope): Promise<TurnOutcome> {
    try {
      this.child = await scope.run(() => this.startTurn(running));
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return { status: 'cancelled', record: notRun(running) };
    }
    this.steer(running);
    try {
      const result = await this.child.result();
      const record = readRecord(result.conversation);
      if (record !== undefined) return { status: result.status, record: withNote(record, result.status) };
      return { status: result.status, record: await recall(running) };
    } catch (error) {
      if (!(error instanceof ChildWorkflowFailure)) throw error;
      const status = statusOf(error);
      const why = status === 'cancelled' ? undefined : errorMessage(error.cause);
      return { status, record: withNote(await recall(running), status, why) };
    }
  }

  /** Starts the turn; where a turn of its id was started before, under the next number. */
  private async startTurn(running: RunningTurn): Promise<Turn> {
    for (;;) {
      const input = this.turnInput(running.message);
      try {
        return await startChild<typeof agentTurn>(WORKFLOWS.turn, {
          args: [input],
          workflowId: running.turn,
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
          cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
          ...startOf(input, input.prompt),
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        this.session.turns += 1;
        running.turn = turnIdIn(workflowInfo().workflowId, this.session.turns);
      }
    }
  }

  private turnInput({ messageId, text, sender }: HeldMessage): TurnInput {
    const { session } = this;
    const { agent, digest, before } = session;
    const { workflowId: sessionId, runId } = workflowInfo();
    const count = entriesOf(session).length;
    const origin = defined({ ...session.origin, requester: sender ?? session.origin?.requester });
    return {
      agent,
      prompt: text,
      ...(Object.keys(origin).length === 0 ? {} : { origin }),
      session: { sessionId, runId, messageId, count, digest, ...defined({ before }) },
    };
  }

  private async end(): Promise<SessionResult> {
    await this.queue.emptied();
    this.publish('closed');
    if (this.cancelled) throw new CancelledFailure('the session was cancelled');
    const { turns, waiting } = this.session;
    return { status: 'closed', turns, left: waiting.map(({ messageId }) => messageId) };
  }

  /** Between turns, and only in a run that has done something. */
  private mustContinue(): boolean {
    const { came, turnsHere, session } = this;
    if (came + turnsHere === 0) return false;
    const { continueAsNewSuggested, historySize } = workflowInfo();
    if (continueAsNewSuggested || came >= LIMITS.sessionMessages) return true;
    const isIdle = session.waiting.length === 0;
    return (
      isIdle && (came >= LIMITS.sessionIdleMessages || (turnsHere >= IDLE_TURNS && historySize > IDLE_BYTES))
    );
  }

  private async continue(): Promise<void> {
    await this.queue.emptied();
    // Somebody closed it meanwhile.
    if (this.session.closing) return;
    const { agent, origin } = this.session;
    const carried = carriedSession(this.session);
    await continueAsNew<typeof agentSession>({ agent, ...defined({ origin }), carried });
  }

  /** Shows what the session is doing to lists and to Temporal's UI. Writes only what changed. */
  private publish(ended?: 'closed'): void {
    const memo = this.memo(ended);
    const text = JSON.stringify(memo);
    if (text === this.published) return;
    this.published = text;
    upsertMemo({ [MEMO.session]: memo });
    setCurrentDetails(detailsOf(memo));
  }

  private memo(ended?: 'closed'): SessionMemo {
    const { agent, turns, running, waiting } = this.session;
    return {
      agent,
      state: ended ?? stateOf(this.session),
      turns,
      ...(running === undefined ? {} : { turn: running.turn }),
      ...(running?.cancelling === true ? { cancelling: true } : {}),
      waiting: waiting.length,
      text: this.text,
      ...(this.refused.length === 0 ? {} : { refused: this.refused }),
    };
  }
}

/** A long history is left behind while nothing waits for it: after so many turns, and over so many bytes. */
const IDLE_TURNS = 20;
const IDLE_BYTES = 1024 * 1024;

interface TurnOutcome {
  status: SessionTurnEnd;
  record: TurnRecord;
}

function stateOf({ closing, running, paused }: Session): SessionState {
  if (closing) return 'closing';
  if (running !== undefined) return 'running';
  return paused ? 'paused' : 'idle';
}

function detailsOf({ state, turn, cancelling, waiting }: SessionMemo): string {
  const lines = [`Session: ${state}, ${waiting} waiting`];
  if (turn !== undefined) lines.push(`- turn \`${turn}\` runs`);
  if (cancelling === true)
    lines.push('- it is being cancelled; it ends as soon as the outcome of each of its calls is known');
  return lines.join('\n');
}

function isRefused(answer: unknown): answer is SessionRefused {
  return isObject(answer) && answer['accepted'] === false;
}

/** How a turn ended that gave no result. */
function statusOf({ cause }: ChildWorkflowFailure): SessionTurnEnd {
  if (cause instanceof CancelledFailure) return 'cancelled';
  if (cause instanceof TerminatedFailure) return 'terminated';
  return cause instanceof TimeoutFailure ? 'timed_out' : 'failed';
}

function withNote({ entries, took }: TurnRecord, status: SessionTurnEnd, why?: string): TurnRecord {
  return { entries: [...entries, ...noteOf(status, why)], took };
}

/** A turn that was cancelled before it began. */
function notRun({ message }: RunningTurn): TurnRecord {
  return {
    entries: recordEntries([{ kind: 'words', text: message.text }, ...noteOf('cancelled')]),
    took: [],
  };
}

/** Asks a turn that gave no result what it did: its history is there as long as its retention lasts. */
async function recall({ turn, message }: RunningTurn): Promise<TurnRecord> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const record = readRecord(messages.valueOf(await ask(turn, asked)));
    if (record !== undefined) return record;
  }
  const words = [message.text, '[What this turn did is not known any more]'];
  return { entries: recordEntries(words.map((text) => ({ kind: 'words', text }))), took: [] };
}

function ask(turn: string, asked: number): Promise<RawValue | undefined> {
  const options: ActivityOptions = {
    activityId: activityIds.recall(turn, asked),
    startToCloseTimeout: TIMES.recallTimeout,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 5 },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `what ${turn} did`,
  };
  return scheduleActivity<RawValue>(ACTIVITIES.recall, [{ turn }], options, messages.rawResult).catch(
    (error: unknown) => {
      if (error instanceof ActivityFailure) return undefined;
      throw error;
    },
  );
}
