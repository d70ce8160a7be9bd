import type { RawValue } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { FAILURES, QUERIES, SIGNALS, UPDATES } from '../../contract/names';
import {
  turnIdIn,
  type MessageTaken,
  type SessionControl,
  type SessionInput,
  type SessionRefused,
} from '../../contract/session';
import { pageOf, type TranscriptPage } from '../../contract/transcript';
import { checkStart } from '../check-start';
import { continueOnCurrentBuild, resetRun } from '../current-build';
import { MessageQueue } from '../message-queue';
import * as messages from '../messages';
import { SESSION_BOUNDS } from './words';
import { summarize } from './summarize';
import { isSessionInput } from './memory';
import { SessionPublisher } from './publish';
import { type JudgedMessage, judgeMessage, repeatedMessage, type RunningTurn, takeMessage } from './queue';
import * as state from './state';
import { ChildTurn } from './run-turn';

/** A session continues as new after this many updates and signals: the server takes 2,000 updates for one run. */
const SESSION_MESSAGES = 1500;

/** The same for a session in which nothing runs and nothing waits. */
const SESSION_IDLE_MESSAGES = 500;

/** Result of `agentSession`. */
interface SessionResult {
  status: 'closed';
  turns: number;
  /** Ids of the messages that no turn has handled. */
  left: string[];
}

/**
 * A conversation. It takes messages and runs a turn for each, one turn at a time. It remembers what its turns said and
 * did, and continues as new between turns. It closes as Completed once somebody has closed it, or as Cancelled.
 */
export async function agentSession(input: SessionInput): Promise<SessionResult> {
  checkStart('session', input, isSessionInput);
  const run = new SessionRun(state.makeSession(input, resetRun()));
  run.setMessageHandlers();
  run.setControlHandlers();
  CancellationScope.current().cancelRequested.catch(() => run.cancel());
  return CancellationScope.nonCancellable(() => run.work());
}

/** One run of a session. */
class SessionRun {
  private readonly queue = new MessageQueue();
  /** The number of messages that arrived in this run, and the number of turns that ended in it. */
  private came = 0;
  private ended = 0;
  private cancelled = false;
  /** Whether somebody asked the session to move to the current build. */
  private isMoving = false;
  private child: ChildTurn | undefined;
  private compacting: CancellationScope | undefined;
  private readonly publisher: SessionPublisher;

  constructor(private readonly session: state.SessionMachine) {
    this.publisher = new SessionPublisher(session);
  }

  setMessageHandlers() {
    const { session, queue } = this;
    setHandler(
      messages.rawUpdate<MessageTaken>(UPDATES.send),
      (message) => queue.answer(messages.weightOf(message), () => messages.takenOf(this.receive(message))),
      {
        validator: (message) => {
          const judged = this.judge(message);
          if (judged.kind === 'refuse') throw messages.refusalFailure(judged.refused);
        },
        description: 'Say something: queue, interrupt or steer',
      },
    );
    messages.onSignal(
      queue,
      SIGNALS.send,
      (message) => this.note(message, this.receive(message)),
      'Say something when no worker is up; what is refused is in the memo',
    );
    setHandler(
      messages.rawQuery<TranscriptPage>(QUERIES.transcript),
      (message) => pageOf(session.memory.entries, messages.firstAsked(message)),
      { description: 'What was said before the running turn, a page at a time' },
    );
  }

  setControlHandlers() {
    const { queue } = this;
    setHandler(
      messages.rawUpdate<void>(UPDATES.control),
      (message) =>
        queue.answer(messages.weightOf(message), () => void messages.takenOf(this.control(message))),
      {
        validator: (message) => void messages.takenOf(this.judgeControl(message)),
        description: 'Pause, resume, compact or close the session, or cancel its turn',
      },
    );
    messages.onSignal(
      queue,
      SIGNALS.control,
      (message) => void this.control(message),
      'Pause, resume, compact or close the session, or cancel its turn, when no worker is up',
    );
    setHandler(messages.rawUpdate<void, []>(UPDATES.move), () => void (this.isMoving = true), {
      validator: () => {
        const { running } = this.session;
        if (running === undefined) return;
        throw ApplicationFailure.nonRetryable(`its turn ${running.turn} is open`, FAILURES.held);
      },
      description: 'Go on in a new run on the current build; only between turns',
    });
  }

  /** Closes the session and cancels its turn. */
  cancel() {
    this.cancelled = true;
    state.takeControl(this.session, { action: 'close', cancel: true });
    this.changed();
  }

  /** Runs turns until the session is closed, or continues as new. */
  async work(): Promise<SessionResult> {
    for (;;) {
      if (this.session.closing) return await this.end();
      if (await this.compacted()) continue;
      if (this.mustContinue()) await this.continue();
      const running = state.beginTurn(this.session, (n) => turnIdIn(workflowInfo().workflowId, n));
      if (running !== undefined) await this.runTurn(running);
      else {
        this.publisher.publish();
        await condition(() => this.canGoOn());
      }
    }
  }

  private canGoOn() {
    const { closing, paused, waiting, compaction } = this.session;
    return closing || compaction !== undefined || (waiting.length > 0 && !paused) || this.mustContinue();
  }

  private judge(message: RawValue): JudgedMessage {
    const read = messages.readMessage(message, SESSION_BOUNDS.send);
    if (read.ok) return judgeMessage(this.session, read.value);
    return { kind: 'refuse', refused: { accepted: false, code: 'malformed', message: read.message } };
  }

  private receive(message: RawValue): MessageTaken | SessionRefused {
    const judged = this.judge(message);
    const at = new Date(Date.now()).toISOString();
    if (judged.kind === 'refuse') return judged.refused;
    if (judged.kind === 'repeat') return repeatedMessage(this.session, judged.message, at);
    const taken = takeMessage(this.session, judged.message, at);
    this.changed();
    return taken;
  }

  private judgeControl(message: RawValue): SessionControl | SessionRefused {
    const read = messages.readMessage(message, SESSION_BOUNDS.control);
    return state.judgeControl(this.session, read.ok ? read.value : undefined);
  }

  private control(message: RawValue): SessionControl | SessionRefused {
    const control = this.judgeControl(message);
    if ('accepted' in control) return control;
    state.takeControl(this.session, control);
    this.changed();
    return control;
  }

  /** Shows a refused message in the memo, because the sender of a signal does not get an answer. */
  private note(message: RawValue, answer: MessageTaken | SessionRefused) {
    if (answer.accepted) return;
    const read = messages.readMessage(message, SESSION_BOUNDS.send);
    const given = read.ok && isObject(read.value) ? read.value['messageId'] : undefined;
    const messageId = typeof given === 'string' ? given.slice(0, 64) : undefined;
    this.publisher.refuse({ code: answer.code, messageId });
  }

  /** Passes new words and interruptions on to the running turn. */
  private changed() {
    this.came += 1;
    this.child?.passOn();
    if (this.session.closing) this.compacting?.cancel();
    // In all other cases the main loop goes on and publishes.
    if (this.child !== undefined || this.compacting !== undefined || !this.canGoOn())
      this.publisher.publish();
  }

  private async runTurn(running: RunningTurn) {
    this.publisher.text = running.message.text.slice(0, LIMITS.promptCharacters);
    this.child = new ChildTurn(this.session, running, {
      onRenamed: () => this.publisher.publish(),
      wasReset: () => this.queue.wasReset,
    });
    this.publisher.publish();
    const { record, status } = await this.child.outcome();
    this.child = undefined;
    this.ended += 1;
    state.endTurn(this.session, record, status);
  }

  /** Lets a model summarize the oldest turns when this is due. Messages that arrive meanwhile wait. */
  private async compacted() {
    const begun = state.beginCompaction(this.session);
    if (begun === undefined) return false;
    this.compacting = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
    this.publisher.publish();
    await summarize(this.session, { ...begun, scope: this.compacting });
    this.compacting = undefined;
    this.session.compaction = undefined;
    return true;
  }

  private async end(): Promise<SessionResult> {
    await this.queue.emptied();
    this.publisher.publish('closed');
    if (this.cancelled) throw new CancelledFailure('the session was cancelled');
    const { turns, waiting } = this.session;
    return { status: 'closed', turns, left: waiting.map(({ messageId }) => messageId) };
  }

  /**
   * Whether the session continues as new. It does so only between turns, and only in a run that has taken a message or
   * ended a turn.
   */
  private mustContinue() {
    const { came, ended, session } = this;
    const { continueAsNewSuggested, historySize, targetWorkerDeploymentVersionChanged } = workflowInfo();
    if (this.isMoving || (targetWorkerDeploymentVersionChanged && came + ended > 0)) return true;
    const isIdle = session.paused || session.waiting.length === 0;
    if (came >= SESSION_MESSAGES) return true;
    if (continueAsNewSuggested) return ended > 0 || (isIdle && came > 0);
    const isLong = came >= SESSION_IDLE_MESSAGES || (ended >= IDLE_TURNS && historySize > IDLE_BYTES);
    return isIdle && isLong;
  }

  private async continue() {
    await this.queue.emptied();
    const { agent, origin, closing, compaction } = this.session;
    // Meanwhile somebody has closed the session, or asked for a summary.
    if (closing || compaction !== undefined) return;
    const carried = state.carriedSession(this.session);
    await continueOnCurrentBuild<typeof agentSession>({ agent, origin, carried });
  }
}

/**
 * A session that is paused, or in which no message waits, continues as new after this many turns if its history is
 * longer than this many bytes.
 */
const IDLE_TURNS = 20;
const IDLE_BYTES = 1024 * 1024;
