import type { ResultHead } from '../contract/make-result';
import type { ToolResult } from '../contract/result';
import { cutOutput } from './cut-output';
import { describeFailure } from './describe-failure';
import { isToolError, isTransportError } from './errors';
import { formatResult } from './format-result';
import { failureResult, successResult, type FactsNow } from './result';
import type { Ended, Ending, Settled } from './run-handler';

/** What one execution came to. */
export interface RunOutcome {
  result: ToolResult;
  /** Whether the same attempt may be made again, as far as the failure says; the tool's effect is not looked at. */
  retryable: boolean;
  /** False: the handler may still have, or have had, its effect. */
  outcomeKnown: boolean;
}

/** What a result says beside the ending itself. */
export interface OutcomeFacts {
  head: ResultHead;
  facts: FactsNow;
  limitBytes: number;
  timeoutMs: number;
}

/** The one place where an ending becomes a result. Never throws. */
export function toOutcome(ending: Ending, about: OutcomeFacts): RunOutcome {
  if (ending.kind === 'returned') {
    const result = successResult(about.head, ending.value, { ...about.facts, limitBytes: about.limitBytes });
    return { result, retryable: false, outcomeKnown: true };
  }
  return ending.kind === 'threw' ? thrownOutcome(ending, about) : endedOutcome(ending, about);
}

type Thrown = Extract<Settled, { kind: 'threw' }>;

function thrownOutcome({ error: thrown, partial = '' }: Thrown, { head, facts }: OutcomeFacts): RunOutcome {
  const result = failureResult(head, describeFailure(thrown), { ...facts, partial });
  if (isTransportError(thrown)) return { result, retryable: true, outcomeKnown: thrown.nothingSent };
  return { result, retryable: isToolError(thrown) && thrown.retryable, outcomeKnown: true };
}

function endedOutcome(ended: Ended, { head, facts, limitBytes, timeoutMs }: OutcomeFacts): RunOutcome {
  const message = ended.kind === 'timeout' ? `timed out after ${timeoutMs} ms` : cancelled(ended);
  const partial = cutOutput(ended.partial + lastWords(ended.settled), limitBytes);
  const result = failureResult(head, { code: ended.kind, message }, { ...facts, partial });
  return { result, retryable: false, outcomeKnown: isKnown(ended.settled) };
}

function cancelled({ started }: Ended): string {
  return started ? 'cancelled while it ran' : 'cancelled before it started; nothing ran';
}

/** A handler that returns after its signal aborted may have done its work: the model has to hear what it says. */
function lastWords(settled: Settled | undefined): string {
  if (settled?.kind !== 'returned' || settled.value === undefined) return '';
  return `\n[it ended right after that and returned:]\n${formatResult(settled.value).content}`;
}

function isKnown(settled: Settled | undefined): boolean {
  if (settled === undefined) return false;
  return settled.kind === 'returned' || !isTransportError(settled.error) || settled.error.nothingSent;
}
