import type { ComparedStep, Comparison, PathCall, PathEnd, PathFate, PathStep } from '../../history/compare';
import { besides, fitLine, type ColumnLine } from './columns';
import type { Screen } from './screen';
import { stateCell } from './state';
import type { Style } from './style';
import { visible } from './visible';
import { callText, head } from './words';

type Place = Pick<Screen, 'width' | 'style'>;

/** Two paths side by side from the point where one was forked; what is the same in both is told once. */
export function compareLines(comparison: Comparison, screen: Place): string[] {
  const { of, fork, from, world, steps, end } = comparison;
  const { style } = screen;
  return [
    style.strong(`two paths from ${visible(from)} on, the second in a ${world} world`),
    ...both(
      [{ text: visible(of), paint: style.quiet }],
      [{ text: visible(fork), paint: style.quiet }],
      screen,
    ),
    ...steps.flatMap((step) => ['', ...stepLines(step, screen)]),
    '',
    ...endLines(end, screen),
  ];
}

function stepLines({ step, left, right, same }: ComparedStep, screen: Place): string[] {
  const { style } = screen;
  if (same && left !== undefined)
    return [
      style.quiet(`step ${step}, the same in both`),
      ...pathLines(right ?? left, style).flatMap(fit(screen)),
    ];
  return [style.quiet(`step ${step}`), ...both(pathLines(left, style), pathLines(right, style), screen)];
}

function endLines({ left, right, same }: Comparison['end'], screen: Place): string[] {
  const { style } = screen;
  if (same) return [style.quiet('the same end'), ...pathEnd(right, style).flatMap(fit(screen))];
  return [style.quiet('the end'), ...both(pathEnd(left, style), pathEnd(right, style), screen)];
}

/** Side by side where there is room, otherwise one after the other. */
function both(left: readonly ColumnLine[], right: readonly ColumnLine[], screen: Place): string[] {
  const lines = besides(left, right, screen.width);
  if (lines !== undefined) return lines;
  const { quiet } = screen.style;
  return [quiet('first:'), ...left.flatMap(fit(screen)), quiet('second:'), ...right.flatMap(fit(screen))];
}

function fit({ width }: Place): (line: ColumnLine) => string[] {
  return (line) => fitLine(line, width);
}

function pathLines(path: PathStep | undefined, style: Style): ColumnLine[] {
  if (path === undefined) return [{ text: '(it did not come so far)', paint: style.quiet }];
  // An answer is told once, at the end.
  if (path.calls.length === 0) return [{ text: `${visible(path.model)} answers`, paint: style.quiet }];
  const text = path.text.trim() === '' ? [] : [{ text: visible(head(path.text.trim())) }];
  return [...text, ...path.calls.flatMap((call) => callLines(call, style))];
}

function callLines({ callId, tool, arguments: args, fate, content }: PathCall, style: Style): ColumnLine[] {
  const [word, paint] = fateWord(fate, style);
  const told = fate === 'done' && content !== undefined ? `: ${visible(head(content.trim()))}` : '';
  return [{ text: `${callId} ${callText(tool, args)}` }, { text: `${word}${told}`, indent: 4, paint }];
}

function fateWord(fate: PathFate, style: Style): [string, Style['good']] {
  switch (fate) {
    case 'done':
      return ['done', style.good];
    case 'would_run':
      return ['would run', style.warn];
    case 'would_ask':
      return ['would ask a person, then run', style.warn];
    case 'open':
      return ['not over yet', style.warn];
    default:
      return [fate.replaceAll('_', ' '), style.bad];
  }
}

function pathEnd({ status, answer, error }: PathEnd, style: Style): ColumnLine[] {
  const state = stateCell(status, style);
  const said = answer ?? error ?? '';
  return [state, ...(said === '' ? [] : [{ text: visible(head(said.trim())) }])];
}
