import type { BatchResult } from '../batch/batch';
import type { BatchPlan, BatchWish, LeftOut, Planned } from '../batch/plan';
import { withoutId } from './inbox';
import type { Screen } from './screen';
import type { Style } from './style';
import { tableLines } from './table';
import { relative } from '../../contract/times';
import { visible } from './visible';

/** What a batch would decide as a table, and what it leaves out and why. */
export function planLines(
  { planned, leftOut }: BatchPlan,
  { decision, now }: BatchWish,
  screen: Pick<Screen, 'width' | 'style'>,
): string[] {
  const { style, width } = screen;
  const word = decision === 'approved' ? 'approved' : 'denied';
  const left = leftOut.map((one) => style.quiet(leftOutLine(one)));
  if (planned.length === 0) return ['Nothing fits; nothing is decided.', ...left];
  const head = ['CALL', 'TOOL', 'AGENT', 'WAITS', 'CALLS FOR'];
  const table = { head, rows: planned.map((one) => row(one, now)), flex: 4 };
  return [`to be ${word}:`, ...tableLines(table, { width, quiet: style.quiet }), ...left];
}

function row({ item }: Planned, now: number) {
  return [
    { text: visible(`${item.turn}/${item.callId}`) },
    { text: visible(item.tool) },
    { text: visible(item.agent) },
    { text: relative(item.since, now).replace(/ ago$/, '') },
    { text: visible(withoutId(item)) },
  ];
}

function leftOutLine({ item, why }: LeftOut): string {
  return `left out: ${visible(`${item.turn}/${item.callId}`)}: ${why}`;
}

/** What became of one request of a batch. */
export function resultLine({ turn, callId, answer }: BatchResult, style: Style): string {
  const id = visible(`${turn}/${callId}`);
  if (answer.status === 'recorded')
    return style.warn(`${id} recorded; it takes effect when a worker returns`);
  if (answer.status === 'accepted') return style.good(`${id} ${answer.verdict.decision}`);
  return style.bad(`${id} refused, ${answer.verdict.code}: ${visible(answer.verdict.message)}`);
}
