import { setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { MEMO } from '../../contract/names';
import type { SessionMemo } from '../../contract/session';
import type { SessionMachine } from './state';

/** Shows the state of a session in lists and in Temporal's UI. */
export class SessionPublisher {
  /** The beginning of the last message for which a turn ran. */
  text = textBefore();
  private refused: NonNullable<SessionMemo['refused']> = [];
  private published = '';

  constructor(private readonly session: SessionMachine) {}

  /** Publishes the state of the session. Writes only what changed. */
  publish(ended?: 'closed'): void {
    const memo = this.memo(ended ?? stateOf(this.session));
    const text = JSON.stringify(memo);
    if (text === this.published) return;
    this.published = text;
    upsertMemo({ [MEMO.session]: memo });
    setCurrentDetails(detailsOf(memo));
  }

  /** Shows the last refused messages, because the sender of a signal does not get an answer. */
  refuse(one: NonNullable<SessionMemo['refused']>[number]): void {
    this.refused = [...this.refused.slice(1 - LIMITS.memoVerdicts), one];
    this.publish();
  }

  private memo(now: SessionMemo['state']): SessionMemo {
    const { agent, turns, running, waiting } = this.session;
    return {
      agent,
      state: now,
      turns,
      waiting: waiting.length,
      text: this.text,
      turn: running?.turn,
      cancelling: running?.cancelling || undefined,
      refused: this.refused.length === 0 ? undefined : this.refused,
    };
  }
}

/** The text that the previous run left in the memo. */
function textBefore() {
  const memo = workflowInfo().memo?.[MEMO.session];
  const text = isObject(memo) ? memo['text'] : undefined;
  return typeof text === 'string' ? text : '';
}

function stateOf({ closing, running, paused, compaction }: SessionMachine): SessionMemo['state'] {
  if (closing) return 'closing';
  if (running !== undefined) return 'running';
  if (compaction === 'running') return 'compacting';
  return paused ? 'paused' : 'idle';
}

function detailsOf({ state: now, turn, cancelling, waiting }: SessionMemo) {
  const lines = [`Session: ${now}, ${waiting} waiting`];
  if (turn !== undefined) lines.push(`- turn \`${turn}\` runs`);
  if (now === 'compacting') lines.push('- a model writes a summary of the oldest turns');
  if (cancelling === true)
    lines.push('- it is being cancelled; it ends as soon as the outcome of each of its calls is known');
  return lines.join('\n');
}
