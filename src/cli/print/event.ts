import { clock } from '../../contract/text/times';
import type { TranscriptEntry } from '../../contract/transcript';
import { describeEvent, truncate } from '../../history/describe';
import type { TurnEvent } from '../../history/events';
import { escapeText, escapeLines, escapeProse, type Paint } from '../../contract/text/escape';
import { wrap } from '../../contract/text/columns';
import { toneOf, type ScreenFormat } from './screen';

/** The least number of columns for the time of day. A narrower screen leaves it out. */
const CLOCK_FROM = 60;
const LABEL = 8;

/** One event as lines: time, subject, and what happened. Empty for events that tell a person nothing new. */
export function eventLines(event: TurnEvent, screen: ScreenFormat): string[] {
  const { label, text, tone, minor } = describeEvent(event);
  if (minor === true) return [];
  const { style, width } = screen;
  const paint: Paint = event.type === 'turn_started' ? style.strong : toneOf(tone, style);
  const time = width < CLOCK_FROM ? '' : `${clock(event.at)}  `;
  const before = time.length + LABEL + 1;
  const shown = event.type === 'turn_started' ? escapeProse(text) : escapeText(text);
  const [first = '', ...rest] = wrap(shown, width - before);
  const head = `${style.quiet(time)}${style.quiet(escapeText(label).padEnd(LABEL))} `;
  const pad = ' '.repeat(before);
  const lines = [head + paint(first), ...rest.map((line) => pad + paint(line))];
  if (event.type === 'forked')
    return [...lines, ...takenLines(event.taken).map((line) => pad + style.quiet(line))];
  if (event.type !== 'turn_ended' || !event.answer) return lines;
  return [...lines, '', ...escapeLines(event.answer.trimEnd(), style.mark, 'prose'), ''];
}

/** The messages that a fork took over, one in a line. */
function takenLines(taken: readonly TranscriptEntry[]) {
  return taken.flatMap((entry) => {
    if (entry.kind === 'result') {
      const gave = entry.success ? 'gave' : 'failed';
      return [`${escapeText(`${entry.callId} ${entry.tool}`)} ${gave}: ${escapeText(lineOf(entry.content))}`];
    }
    if (entry.kind === 'words' || entry.text.trim() === '') return [];
    return [`the model said: ${escapeProse(lineOf(entry.text))}`];
  });
}

function lineOf(text: string) {
  return truncate(text.trim().split('\n', 1)[0] ?? '');
}
