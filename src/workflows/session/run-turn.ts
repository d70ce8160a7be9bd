import { withFiles } from '../../contract/text/bytes';
import { type RawValue, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  CancellationScope,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  getExternalWorkflowHandle,
  isCancellation,
  scheduleActivity,
  workflowInfo,
} from '@temporalio/workflow';
import { readRecord, recordEntries } from '../../contract/session/conversation';
import { errorMessage } from '../../contract/errors';
import { SECOND } from '../../contract/limits';
import { ACTIVITIES, activityIds, SIGNALS } from '../../contract/names';
import { type HeldMessage, turnIdIn, type TurnRecord } from '../../contract/session';
import { wordsEntry, type TranscriptEntry, cutContent } from '../../contract/transcript';
import type { TurnInput } from '../../contract/turn';
import type { TurnEnd } from '../../contract/turn-states';
import type { agentTurn } from '../agent-turn';
import { failedEnd, startChildTurn } from '../child-turn';
import { MOST_ASKED, rawResult, decodedValueOf } from '../messages';
import type { RunningTurn } from './queue';
import { originOfTurn, type SessionMachine } from './state';

/** The timeout of one attempt to read the record of a closed turn. A worker replays the whole turn for this. */
const RECALL_TIMEOUT = 60 * SECOND;

/** The parts of a session's run that a turn needs. */
interface Run {
  onRenamed(): void;
  /** Whether the run continues from a reset. */
  wasReset(): boolean;
}

/** The turn that a session runs, as a child workflow. */
export class ChildTurn {
  private readonly scope: CancellationScope;
  private child: ChildWorkflowHandle<typeof agentTurn> | undefined;
  /** The number of steering messages that were sent to the turn. */
  private sent = 0;

  constructor(
    private readonly session: SessionMachine,
    private readonly running: RunningTurn,
    private readonly run: Run,
  ) {
    this.scope = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  }

  /** Starts the turn and waits for its end. A turn with a call in doubt does not end before that call is resolved. */
  async outcome(): Promise<{ status: TurnEnd; record: TurnRecord }> {
    const { running } = this;
    try {
      this.child = await this.scope.run(() => this.start());
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return { status: 'cancelled', record: withNote(ofMessage(running.message), 'cancelled') };
    }
    this.passOn();
    try {
      const { status, conversation, why } = await this.child.result();
      const record = readRecord(conversation);
      return { status, record: record ? withNote(record, status, why) : await recall(running, status, why) };
    } catch (error) {
      if (!(error instanceof ChildWorkflowFailure)) throw error;
      const status = failedEnd(error).kind;
      const why = status === 'cancelled' ? undefined : errorMessage(error.cause);
      return { status, record: await recall(running, status, why) };
    }
  }

  /** Passes new words and interruptions on to the turn. */
  passOn(): void {
    const { child, running } = this;
    if (running.cancelling) this.scope.cancel();
    if (child === undefined) return;
    for (const { messageId, text, files, sender } of running.steering.slice(this.sent)) {
      this.sent += 1;
      // A turn that has ended does not take the message up. The message is then queued.
      child.signal(SIGNALS.words, { messageId, text, files, sender }).catch(() => undefined);
    }
  }

  /**
   * Starts the turn. If a turn with its id was started before, this turn gets the next number. That happens after a
   * reset: the reset undid the earlier turn. Temporal leaves the earlier turn open, so it is cancelled
   * here.
   */
  private async start(): Promise<ChildWorkflowHandle<typeof agentTurn>> {
    const { running, session } = this;
    for (;;) {
      const input = this.input();
      try {
        return await startChildTurn({ turn: running.turn, input });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        if (this.run.wasReset()) cancelOpen(running.turn);
        session.turns += 1;
        running.turn = turnIdIn(workflowInfo().workflowId, session.turns);
        this.run.onRenamed();
      }
    }
  }

  private input(): TurnInput {
    const { agent, memory, spending, states } = this.session;
    const { messageId, text, files, sender } = this.running.message;
    const { workflowId: sessionId, runId } = workflowInfo();
    const origin = originOfTurn(this.session.origin, sender);
    return {
      agent,
      prompt: text,
      ...withFiles(files),
      origin: Object.keys(origin).length === 0 ? undefined : origin,
      session: { sessionId, runId, messageId, ...memory.ref },
      sessionSpending: spending,
      sessionStates: states.length === 0 ? undefined : states,
    };
  }
}

/** Cancels a turn, which may have ended already. */
function cancelOpen(turn: string) {
  getExternalWorkflowHandle(turn)
    .cancel()
    .catch(() => undefined);
}

function withNote(record: TurnRecord, status: TurnEnd, why?: string): TurnRecord {
  return { ...record, entries: [...record.entries, ...turnEndNote(status, why)] };
}

function ofMessage(message: HeldMessage, ...notes: string[]): TurnRecord {
  const words = [message, ...notes.map((text) => ({ text }))];
  return { entries: recordEntries(words.map(wordsEntry)), took: [] };
}

/** Asks a turn without a result what it did. The turn can answer as long as the server keeps its history. */
async function recall({ turn, message }: RunningTurn, status: TurnEnd, why?: string): Promise<TurnRecord> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const record = readRecord(decodedValueOf(await ask(turn, asked)));
    if (record !== undefined) return withNote(record, status, why);
  }
  return ofMessage(message, '[What this turn did is not known any more. Its calls may have run.]');
}

function ask(turn: string, asked: number): Promise<RawValue | undefined> {
  const options: ActivityOptions = {
    activityId: activityIds.recall(turn, asked),
    startToCloseTimeout: RECALL_TIMEOUT,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 5 },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `what ${turn} did`,
  };
  const asking = scheduleActivity<RawValue>(ACTIVITIES.recall, [{ turn }], options, rawResult);
  return asking.catch((error: unknown) => {
    if (error instanceof ActivityFailure) return undefined;
    throw error;
  });
}

/** The entry that tells the model that a turn ended without an answer. */
function turnEndNote(status: TurnEnd, why?: string): TranscriptEntry[] {
  const reason = why === undefined ? '' : `: ${cutContent(why, 1024)}`;
  const texts: Record<TurnEnd, string | undefined> = {
    answered: undefined,
    step_limit: '[This turn ended at its limit of steps. What is above was done.]',
    budget: `[This turn ended because its budget is used up${reason}. What is above was done.]`,
    loop: '[This turn was ended because its model asked for the same calls again and again. What is above was done.]',
    failed: `[This turn failed${reason}. What is above was done.]`,
    cancelled: '[This turn was cancelled before it was over. What is above was done, and nothing after it.]',
    terminated: `[This turn was ended from outside${reason}. What is above was done; a call without a result may have run.]`,
    timed_out: '[This turn ran out of time. What is above was done; a call without a result may have run.]',
  };
  const text = texts[status];
  return text === undefined ? [] : [{ kind: 'words', text }];
}
