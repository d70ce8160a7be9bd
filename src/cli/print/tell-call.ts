import type { ToolResult } from '../../contract/result';
import type { Judgement, Said } from '../../history/events';
import type { Style } from './style';
import { span } from '../../contract/times';
import { visible } from './visible';
import { callText, head, speaker, who, type Of, type Told } from './words';

/** Events of a request. */
export type RequestEvent = Of<'request_opened' | 'signal_recorded' | 'decision' | 'request_expired'>;

/** Events of a call that runs. */
export type CallEvent = Of<'call_prepared' | 'call_started' | 'call_ended'>;

/** Events of a call whose outcome is unknown. */
export type DoubtEvent = Of<
  'call_lost' | 'verifying' | 'verified' | 'in_doubt' | 'resolved' | 'outcome_reported'
>;

/** Tells an event of a request. */
export function tellRequest(event: RequestEvent, { warn, good, bad }: Style): Told {
  switch (event.type) {
    case 'request_opened':
      return [event.callId, `waits for a decision: ${visible(dropId(event))}`, warn];
    case 'signal_recorded':
      return [
        event.callId ?? '?',
        `a decision of ${who(event.approver)} is on record and waits for a worker`,
      ];
    case 'request_expired':
      return [event.callId, 'expired: nobody decided in time, nothing ran', bad];
    case 'decision': {
      const paint = event.judgement.accepted === true && event.decision !== 'denied' ? good : bad;
      const hunks = event.hunks === undefined ? '' : `, hunks ${visible(event.hunks.join(', '))}`;
      const again = event.asksAgain === true ? '; the edit needs a new look' : '';
      return [event.callId || '?', said(event.decision ?? 'a decision', event, hunks + again), paint];
    }
  }
}

/** Tells an event of a call that runs. */
export function tellCall(event: CallEvent, style: Style): Told {
  switch (event.type) {
    case 'call_prepared':
      return undefined;
    case 'call_started': {
      const again = event.generation > 0 ? ' once more' : '';
      // What was approved as proposed was shown a moment ago.
      const args = event.decision?.decision === 'approved' ? {} : event.arguments;
      return [event.callId, `runs${again}: ${callText(event.tool, args)}`];
    }
    case 'call_ended': {
      const { result, durationMs, origin } = event;
      const { dry } = result.metadata;
      if (dry !== undefined)
        return [event.callId, `${DRY[dry]}: ${callText(event.tool, result.arguments)}`, style.warn];
      const source = origin === 'record' ? 'given: ' : '';
      const took = durationMs === null ? '' : ` (${span(durationMs)})`;
      const paint = result.success ? style.good : style.bad;
      return [event.callId, `${source}${outcome(result)}${took}`, paint];
    }
  }
}

/** Tells an event of a call whose outcome is unknown. */
export function tellDoubt(event: DoubtEvent, { warn, good, bad }: Style): Told {
  const { callId } = event;
  switch (event.type) {
    case 'call_lost':
      return [callId, `its outcome is unknown: ${visible(event.message)}`, warn];
    case 'verifying':
      return [callId, 'the tool is asked whether it happened'];
    case 'verified':
      return [
        callId,
        `${VERIFIED[event.outcome]}${event.message === undefined ? '' : `: ${visible(event.message)}`}`,
      ];
    case 'in_doubt':
      return [callId, `in doubt, a person has to resolve it: ${visible(event.message)}`, warn];
    case 'resolved': {
      const paint = event.judgement.accepted === true ? good : bad;
      return [callId || '?', said(event.resolution ?? 'a resolution', event), paint];
    }
    case 'outcome_reported': {
      const late = event.settles ? 'reported after all' : 'reported too late to count';
      return [callId, `${late}: ${outcome(event.result)}`];
    }
  }
}

const DRY = {
  would_run: 'would run',
  would_ask: 'would ask a person, then run',
} as const;

const VERIFIED = {
  happened: 'the tool says that it happened',
  did_not: 'the tool says that it did not happen',
  cannot_tell: 'the tool cannot tell',
} as const;

function said(what: string, event: Said & { judgement: Judgement }, details = ''): string {
  const { judgement, reason } = event;
  const by = `${what} by ${speaker(event)}`;
  if (judgement.accepted === false) {
    const why = judgement.message === undefined ? '' : `: ${visible(judgement.message)}`;
    return `${by} was refused, ${judgement.code}${why}`;
  }
  const unknown = judgement.accepted === 'unknown' ? '; its verdict is no longer on record' : '';
  const because = reason === undefined || reason === '' ? '' : `: ${visible(head(reason))}`;
  return `${by}${details}${unknown}${because}`;
}

function outcome({ success, content, error }: ToolResult): string {
  if (!success) return `${error?.code ?? 'unknown'}: ${visible(head(error?.message ?? content))}`;
  const lines = content.trimEnd().split('\n');
  const more = lines.length > 1 ? ` … ${lines.length - 1} more ${lines.length === 2 ? 'line' : 'lines'}` : '';
  return `done: ${visible(head(lines[0] ?? ''))}${more}`;
}

function dropId({ summary, callId }: Of<'request_opened'>): string {
  return summary.startsWith(`${callId} `) ? summary.slice(callId.length + 1) : summary;
}
