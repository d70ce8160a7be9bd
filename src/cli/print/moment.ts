import type { TranscriptEntry } from '../../contract/transcript';
import { summaryOf } from '../../history/summary';
import type { TurnMoment } from '../../history/state-at';
import type { Screen } from './screen';
import { stateCell } from './state';
import { factLines, type Cell } from './table';
import { clock, span } from '../../contract/times';
import { proposalLines } from './request';
import type { TurnPlace } from './turn';
import { visible, visibleLines } from './visible';

/** Lines of one message; `--json` has the whole of it. */
const MESSAGE_LINES = 20;
const LABEL = 8;

/** A turn as it was at a moment: where it stood, what the model knew, what waited for a person. */
export function momentLines(moment: TurnMoment, place: TurnPlace): string[] {
  const { screen } = place;
  const { entries, known } = moment.transcript;
  return [
    ...factLines(momentFacts(moment, place), { width: screen.width, quiet: screen.style.quiet }),
    ...section('the model knew', entries.slice(0, known), screen),
    ...section('since then', entries.slice(known), screen),
    ...callLines(moment, screen),
    ...waitingLines(moment, place),
  ];
}

function momentFacts({ view, at, eventId }: TurnMoment, { screen }: TurnPlace): [string, Cell][] {
  const after = span(Date.parse(at) - Date.parse(view.startedAt));
  return [
    ['turn', { text: visible(view.turn), paint: screen.style.strong }],
    ['at', { text: `event #${eventId}, ${clock(at)}, ${after} after its start` }],
    ['state', stateCell(view.status, screen.style)],
  ];
}

function section(name: string, entries: readonly TranscriptEntry[], screen: Place): string[] {
  if (entries.length === 0) return [];
  return ['', screen.style.quiet(`${name}:`), ...entries.flatMap((entry) => entryLines(entry, screen))];
}

type Place = Pick<Screen, 'width' | 'style'>;

function entryLines(entry: TranscriptEntry, { style }: Place): string[] {
  if (entry.kind === 'words') return messageLines('person', entry.text, style);
  if (entry.kind === 'result')
    return messageLines(entry.callId, `${entry.success ? '' : 'error: '}${entry.content}`, style);
  const calls = entry.calls.map((call) => `→ ${summaryOf(call)}`);
  const text = entry.text.trim() === '' ? calls : [entry.text.trimEnd(), ...calls];
  return messageLines('model', text.join('\n'), style);
}

function messageLines(who: string, text: string, style: Screen['style']): string[] {
  const lines = visibleLines(text, style.mark);
  const more = lines.length - MESSAGE_LINES;
  const shown = more > 1 ? [...lines.slice(0, MESSAGE_LINES), style.quiet(`… ${more} more lines`)] : lines;
  return shown.map((line, index) =>
    `  ${style.quiet((index === 0 ? visible(who) : '').padEnd(LABEL))} ${line}`.trimEnd(),
  );
}

/** What waited for a person then; nothing of it is to be decided now. */
function waitingLines({ view, at }: TurnMoment, { screen }: TurnPlace): string[] {
  const place = { screen, turn: view.turn, now: Date.parse(at) };
  return [
    ...view.requests.flatMap((request) => ['', ...proposalLines(request, place)]),
    ...view.inDoubt.flatMap(({ callId, tool, message }) => [
      '',
      `${screen.style.warn(`${callId} ${visible(tool)} in doubt`)}: ${visible(message)}`,
    ]),
  ];
}

/** Calls of the step that was not over. */
function callLines({ view }: TurnMoment, { style }: Place): string[] {
  const [last] = view.steps.slice(-1);
  const calls = view.calls.filter((call) => call.step === last?.step);
  if (calls.length === 0 || view.endedAt !== null) return [];
  return [
    '',
    style.quiet(`calls of step ${last?.step ?? 0}:`),
    ...calls.map(({ callId, tool, phase }) => `  ${callId} ${visible(tool)}  ${phase.replaceAll('_', ' ')}`),
  ];
}
