import type { TurnEvent } from '../../history/events';
import type { Screen } from './screen';
import type { Style } from './style';
import { tellCall, tellDoubt, tellRequest } from './tell-call';
import { takenLines } from './tell-fork';
import { tellTurn } from './tell-turn';
import { clock } from '../../contract/times';
import { visibleLines } from './visible';
import { wrap } from './width';
import type { Told } from './words';

type Place = Pick<Screen, 'width' | 'style'>;

/** Below this there is no room for the time of day. */
const CLOCK_FROM = 60;
const LABEL = 8;

/** One event as lines: time, what it is about, what happened. None for events that say nothing new to a person. */
export function eventLines(event: TurnEvent, screen: Place): string[] {
  const told = tell(event, screen.style);
  if (told === undefined) return [];
  const [label, text, paint] = told;
  const time = screen.width < CLOCK_FROM ? '' : `${clock(event.at)}  `;
  const before = time.length + LABEL + 1;
  const [first = '', ...rest] = wrap(text, screen.width - before);
  const head = `${screen.style.quiet(time)}${screen.style.quiet(label.padEnd(LABEL))} `;
  const pad = ' '.repeat(before);
  const lines = [head + color(first, paint), ...rest.map((line) => pad + color(line, paint))];
  if (event.type === 'forked')
    return [...lines, ...takenLines(event.taken).map((line) => pad + screen.style.quiet(line))];
  return event.type === 'turn_ended' ? [...lines, ...answerLines(event.answer, screen)] : lines;
}

function color(text: string, paint?: (text: string) => string): string {
  return paint === undefined ? text : paint(text);
}

function answerLines(answer: string | undefined, { style }: Place): string[] {
  if (answer === undefined || answer === '') return [];
  return ['', ...visibleLines(answer.trimEnd(), style.mark), ''];
}

function tell(event: TurnEvent, style: Style): Told {
  switch (event.type) {
    case 'request_opened':
    case 'signal_recorded':
    case 'decision':
    case 'request_expired':
      return tellRequest(event, style);
    case 'call_prepared':
    case 'call_started':
    case 'call_ended':
      return tellCall(event, style);
    case 'call_lost':
    case 'verifying':
    case 'verified':
    case 'in_doubt':
    case 'resolved':
    case 'outcome_reported':
      return tellDoubt(event, style);
    default:
      return tellTurn(event, style);
  }
}
