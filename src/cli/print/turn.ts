import type { TurnEvent } from '../../history/events';
import type { CallView, TurnView } from '../../history/view';
import { recordLines } from './call-records';
import { eventLines } from './event';
import { previewLines } from './diff';
import { doubtLines, requestLines, saysLines, storyFacts, type Story, type WaitingPlace } from './request';
import { stateCell } from './state';
import { factLines, type Cell } from './table';
import { relative, span } from '../../contract/times';
import { visible, visibleLines } from './visible';

/** Where a turn is printed; the turn's id comes with it. */
export type TurnPlace = Omit<WaitingPlace, 'turn'>;

/** A whole turn: facts, timeline, and what waits for a person. */
export function turnLines(view: TurnView, events: readonly TurnEvent[], place: TurnPlace): string[] {
  const { screen } = place;
  return [
    ...factLines(turnFacts(view, place), { width: screen.width, quiet: screen.style.quiet }),
    '',
    ...events.flatMap((event) => eventLines(event, screen)),
    ...openLines(view, place),
  ];
}

/** Everything of a turn that waits for a person, with the commands that move it on. */
export function openLines(view: TurnView, place: TurnPlace): string[] {
  const at = { ...place, turn: view.turn };
  return [
    ...view.requests.flatMap((request) => ['', ...requestLines(request, at)]),
    ...view.inDoubt.flatMap((doubt) => ['', ...doubtLines(doubt, at)]),
  ];
}

/** What led to a call, from the record of its turn. */
export function storyOf({ agent, prompt, steps }: TurnView, { step }: CallView): Story {
  const says = steps.findLast((one) => one.step === step)?.text ?? '';
  return { agent, asked: prompt, says };
}

/** One call: what waits, or what became of it. */
export function callLines(call: CallView, place: WaitingPlace): string[] {
  if (call.phase === 'requested' && call.request !== undefined) return requestLines(call.request, place);
  const { screen } = place;
  return [
    ...factLines(callFacts(call, place), { width: screen.width, quiet: screen.style.quiet }),
    ...recordLines(call, screen),
    ...(call.request?.preview === undefined
      ? []
      : block('preview', previewLines(call.request.preview, screen.style), place)),
    ...saysLines(place),
    ...block(
      'on record',
      [...call.decisions, ...call.resolutions].flatMap((event) => eventLines(event, screen)),
      place,
    ),
    ...(call.result === undefined
      ? []
      : block('result', visibleLines(call.result.content, screen.style.mark), place)),
    ...(call.phase === 'in_doubt' && call.doubt !== undefined ? ['', ...doubtLines(call.doubt, place)] : []),
  ];
}

/** What a turn is, and how far. */
export function turnFacts(view: TurnView, { screen, now }: TurnPlace): [string, Cell][] {
  const ended: [string, Cell][] =
    view.endedAt === null ? [] : [['ended', { text: `${relative(view.endedAt, now)} (took ${took(view)})` }]];
  const unjudged: [string, Cell][] =
    view.unjudged === 0 ? [] : [['on record', { text: `${view.unjudged} signals that wait for a worker` }]];
  return [
    ['turn', { text: visible(view.turn), paint: screen.style.strong }],
    ['state', stateCell(view.status, screen.style)],
    ['agent', { text: visible(view.agent) }],
    ['asked', { text: visible(view.prompt) }],
    ['started', { text: relative(view.startedAt, now) }],
    ...ended,
    ...unjudged,
  ];
}

function took({ startedAt, endedAt }: TurnView): string {
  return span(new Date(endedAt ?? startedAt).getTime() - new Date(startedAt).getTime());
}

function callFacts(call: CallView, place: WaitingPlace): [string, Cell][] {
  const { turn, screen } = place;
  const { result, attempts, durationMs } = call;
  const code: [string, Cell][] =
    result?.error === undefined ? [] : [['error', { text: result.error.code, paint: screen.style.bad }]];
  const ran: [string, Cell][] =
    durationMs === undefined
      ? []
      : [
          [
            'took',
            {
              text: `${span(durationMs)}${attempts === undefined || attempts < 2 ? '' : `, ${attempts} attempts`}`,
            },
          ],
        ];
  return [
    ['call', { text: `${turn}/${call.callId}  ${visible(call.tool)}`, paint: screen.style.strong }],
    ...storyFacts(place),
    ['state', { text: call.phase.replaceAll('_', ' ') }],
    ...code,
    ...ran,
  ];
}

function block(name: string, lines: readonly string[], { screen }: WaitingPlace): string[] {
  return lines.length === 0
    ? []
    : [screen.style.quiet(`${name}:`), ...lines.map((line) => `  ${line}`.trimEnd())];
}
