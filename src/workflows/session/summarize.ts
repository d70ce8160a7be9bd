import type { RawValue } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  type CancellationScope,
  isCancellation,
  scheduleActivity,
  workflowInfo,
} from '@temporalio/workflow';
import { OWN_RETRY, TIMES } from '../../contract/limits';
import { ACTIVITIES, activityIds } from '../../contract/names';
import { readCompactOutput } from '../../contract/session/conversation';
import { bytesOfEntries } from '../../contract/transcript';
import { addSpent, countedInReply } from '../../contract/spending/budget';
import { estimatedTokens } from '../../contract/spending/usage';
import type { CompactInput } from '../../contract/session';
import { rawResult, decodedValueOf } from '../messages';
import type { OldestPart } from './compaction';
import { noteNoSummary, type SessionMachine } from './state';

/**
 * The part that is summarized, and whether somebody asked for it. If the scope is cancelled, the memory stays as it
 * is.
 */
interface Compaction {
  part: OldestPart;
  isAsked: boolean;
  scope: CancellationScope;
}

/**
 * Replaces the oldest turns by a summary that a model writes. If no model can write one, the oldest outputs are
 * dropped instead, unless somebody asked for the summary.
 */
export async function summarize(
  session: SessionMachine,
  { part, isAsked, scope }: Compaction,
): Promise<void> {
  const { memory } = session;
  const asked = Date.now();
  const estimate = estimatedTokens(bytesOfEntries(memory.entries.slice(0, part.entries)));
  const written = await scope.run(() => ask(session, part)).catch(withoutSummary);
  if (written === CANCELLED) return;
  const output = readCompactOutput(decodedValueOf(written));
  if (output !== undefined) {
    memory.compact(part, output);
    session.spending.spent = addSpent(
      session.spending.spent,
      countedInReply(output, { estimate, time: Date.now() - asked }),
    );
  } else if (!isAsked) noteNoSummary(session);
}

const CANCELLED = Symbol('cancelled');

function withoutSummary(error: unknown): typeof CANCELLED | undefined {
  if (isCancellation(error)) return CANCELLED;
  if (error instanceof ActivityFailure) return undefined;
  throw error;
}

function ask({ agent, origin, turns, memory }: SessionMachine, part: OldestPart): Promise<RawValue> {
  const { workflowId: sessionId, runId } = workflowInfo();
  const session = { sessionId, runId, ...memory.ref };
  const input: CompactInput = { agent, session, ...part, origin };
  const options: ActivityOptions = {
    activityId: activityIds.compact(turns),
    startToCloseTimeout: TIMES.thinkTimeout,
    heartbeatTimeout: TIMES.heartbeatTimeout,
    // As for a step, the activity decides how often and for how long a model is asked.
    retry: OWN_RETRY,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `summary of ${part.turns} ${part.turns === 1 ? 'turn' : 'turns'}`,
  };
  return scheduleActivity<RawValue>(ACTIVITIES.compact, [input], options, rawResult);
}
