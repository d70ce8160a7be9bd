import { without } from '../result';
import { cutLine, previewSummary, type SummarizedCall, argumentsLine } from './call-summary';

/** What a call does, in one line without its id: `15.00 EUR to ann` from its preview, or `refund cents=1500`. */
export function titleOf({ tool, arguments: args, preview }: Omit<SummarizedCall, 'callId' | 'note'>): string {
  const shown = previewSummary(preview);
  if (shown !== '' && preview?.plan === undefined) return cutLine(shown);
  return cutLine([tool, shown === '' ? argumentsLine(args) : shown].filter(Boolean).join(' '));
}

/** The title in a summary that the workflow made: what the call does, without its id and its tool. */
export function titleIn({
  callId,
  tool,
  summary,
}: {
  callId: string;
  tool: string;
  summary: string;
}): string {
  return without(`${tool} `, without(`${callId} `, summary));
}
