import type { TurnEvent } from '../../history/events';
import type { TurnMoment } from '../../history/moment';
import type { Timeline, TimelineCall, TimelineStep } from '../../history/timeline';
import { describeFile } from '../../contract/text/bytes';
import type { StepView, TurnView } from '../../history/view';
import { recordLines } from './arguments';
import { eventLines } from './event';
import { describeRuling } from './ruling';
import type { Screen, ScreenFormat } from './screen';
import { type TableFact, factLines, indented, inner, section, stateCell } from './table';
import { clock, span, relative } from '../../contract/text/times';
import { openLines, type PrintPlace, limitsText } from './turn';
import { describePhase, describeUsage, describeLineage, describeTokens } from '../../history/labels';
import { describeModel } from '../../history/model-label';
import { escapeText, escapeLines, escapeProse } from '../../contract/text/escape';
import type { TranscriptEntry } from '../../contract/transcript';
import { callSummary } from '../../contract/text/call-summary';
import { questionLines } from './question';
import { proposalLines, originFacts } from './request';
import { sumUsage } from '../../contract/spending/usage';

/** A turn step by step: each reply of the model, the calls of the reply, and how each call ended. */
export function timelineLines(timeline: Timeline, place: PrintPlace): string[] {
  const { screen } = place;
  const { view, runs, moved, steps } = timeline;
  const why = moved === 0 ? 'because its history was long' : `${moved} of them on another build`;
  const more: TableFact = ['runs', runs.length < 2 ? undefined : `${runs.length}, ${why}`];
  return [
    ...factLines([...turnFacts(view, place), more], screen),
    ...steps.flatMap((step) => ['', ...stepLines(step, screen)]),
    ...openLines(view, place),
  ];
}

/** Events that the head line of a step already shows. */
const IN_HEAD: readonly TurnEvent['type'][] = ['thinking', 'think_retried', 'step'];

function stepLines(step: TimelineStep, screen: ScreenFormat) {
  return [
    ...(step.step === 0 ? [] : headLines(step, screen)),
    ...step.calls.flatMap((call) => indented(callLines(call, inner(screen)))),
    ...step.events.filter((event) => !isInHead(event)).flatMap((event) => eventLines(event, screen)),
  ];
}

function isInHead({ type }: TurnEvent) {
  return IN_HEAD.includes(type);
}

function headLines({ step, reply, undone, events }: TimelineStep, screen: ScreenFormat): string[] {
  const { style } = screen;
  const back = undone ? style.warn(' (taken back by a reset)') : '';
  const head = `${style.strong(`step ${step}`)}${back}`;
  if (reply === undefined) return [`${head}  the model was asked`];
  const { context } = reply;
  const retried =
    reply.lastFailure === undefined ? [] : [style.warn(`  tried again: ${escapeText(reply.lastFailure)}`)];
  return [
    `${head}  ${style.quiet(`${replyFacts(reply)}${numbersOf(events.filter(isInHead))}`)}`,
    ...retried,
    ...(context === undefined
      ? []
      : messageLines('context', escapeLines(context, style.mark, 'prose'), style)),
    ...textLines(reply, screen),
  ];
}

function replyFacts(step: StepView) {
  const { askedAt, repliedAt, attempts, finishReason, usage } = step;
  const took = `replied after ${span(Date.parse(repliedAt) - Date.parse(askedAt))}`;
  const tries = attempts > 1 ? `${attempts} attempts` : '';
  const named = [describeModel(step), finishReason, describeUsage(usage)].map((text) => escapeText(text));
  return [took, tries, ...named].filter((text) => text !== '').join(', ');
}

/** The text of a step. The answer of the turn is shown with the turn's end instead. */
function textLines({ text, callIds }: StepView, { style }: ScreenFormat): string[] {
  if (callIds.length === 0 || text.trim() === '') return [];
  return escapeLines(text.trimEnd(), style.mark, 'prose').map((line) =>
    `${style.quiet('  │')} ${line}`.trimEnd(),
  );
}

function callLines(call: TimelineCall, screen: ScreenFormat): string[] {
  const { callId, tool, events, ruling } = call;
  const { strong, quiet } = screen.style;
  const state = `${describePhase(call)[0]}${timesOf(call)}`;
  return [
    `${strong(escapeText(`${callId} ${tool}`))}  ${state}${quiet(numbersOf(events))}`,
    ...indented(recordLines(call, inner(screen))),
    ...indented(ruling ? [quiet(escapeText(`policy  ${describeRuling(ruling)}`))] : []),
    ...indented(events.flatMap((event) => eventLines(event, inner(screen)))),
  ];
}

function timesOf({ durationMs, attempts, waitedMs }: TimelineCall) {
  const parts = [
    ...(waitedMs === undefined ? [] : [`waited ${span(waitedMs)} for a person`]),
    ...(durationMs === undefined ? [] : [`ran ${span(durationMs)}`]),
    ...(attempts === undefined || attempts < 2 ? [] : [`${attempts} attempts`]),
  ];
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

/** The numbers of the history events of an entry, as `--at` takes them. */
function numbersOf(events: readonly TurnEvent[]) {
  const [first, last] = [events.at(0)?.eventId, events.at(-1)?.eventId];
  if (first === undefined || last === undefined) return '';
  return first === last ? `  #${first}` : `  #${first}–#${last}`;
}

/** The most lines of one message. `--json` has all of them. */
const MESSAGE_LINES = 20;
const LABEL = 8;

/** A turn at a moment: its state, what the model knew, and what waited for a person. */
export function momentLines(moment: TurnMoment, place: PrintPlace): string[] {
  const { screen } = place;
  const { entries, known } = moment.transcript;
  return [
    ...factLines(momentFacts(moment, place), screen),
    ...transcriptLines('the model knew', entries.slice(0, known), screen),
    ...transcriptLines('since then', entries.slice(known), screen),
    ...openCallLines(moment, screen),
    ...waitingLines(moment, place),
  ];
}

function momentFacts({ view, at, eventId }: TurnMoment, { screen }: PrintPlace): TableFact[] {
  const after = span(Date.parse(at) - Date.parse(view.startedAt));
  return [
    ['turn', { text: escapeText(view.turn), paint: screen.style.strong }],
    ['at', `event #${eventId}, ${clock(at)}, ${after} after its start`],
    ['state', stateCell(view.status, screen.style)],
  ];
}

function transcriptLines(name: string, entries: readonly TranscriptEntry[], screen: ScreenFormat): string[] {
  const lines = section(
    name,
    entries.flatMap((entry) => entryLines(entry, screen)),
    screen,
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

function entryLines(entry: TranscriptEntry, { style }: ScreenFormat): string[] {
  if (entry.kind === 'words') {
    const files = (entry.files ?? []).map((file) => `[${describeFile(file)}]`);
    const text = [entry.text, ...files].join('\n');
    return messageLines('person', escapeLines(text, style.mark, 'prose'), style);
  }
  if (entry.kind === 'result') {
    const content = `${entry.success ? '' : 'error: '}${entry.content}`;
    return messageLines(entry.callId, escapeLines(content, style.mark), style);
  }
  const calls = entry.calls.flatMap((call) => escapeLines(`→ ${callSummary(call)}`, style.mark));
  const words = entry.text.trim() === '' ? [] : escapeLines(entry.text.trimEnd(), style.mark, 'prose');
  const { context } = entry;
  const known = context === undefined ? [] : escapeLines(context, style.mark, 'prose');
  return [
    ...(known.length === 0 ? [] : messageLines('context', known, style)),
    ...messageLines('model', [...words, ...calls], style),
  ];
}

function messageLines(who: string, lines: readonly string[], style: Screen['style']): string[] {
  const more = lines.length - MESSAGE_LINES;
  const shown = more > 1 ? [...lines.slice(0, MESSAGE_LINES), style.quiet(`… ${more} more lines`)] : lines;
  return shown.map((line, index) =>
    `${style.quiet((index === 0 ? escapeText(who) : '').padEnd(LABEL))} ${line}`.trimEnd(),
  );
}

/** The items that waited for a person at that moment. These items cannot be decided here. */
function waitingLines({ view, at }: TurnMoment, { screen }: PrintPlace): string[] {
  const place = { screen, turn: view.turn, now: Date.parse(at), calls: view.calls };
  return [
    ...view.requests.flatMap((request) => ['', ...proposalLines(request, place)]),
    ...view.questions.flatMap((question) => ['', ...questionLines(question, place)]),
    ...view.inDoubt.flatMap(({ callId, tool, message }) => [
      '',
      `${screen.style.warn(`${escapeText(`${callId} ${tool}`)} in doubt`)}: ${escapeText(message)}`,
    ]),
  ];
}

/** The calls of the step that was not over at that moment. */
function openCallLines({ view }: TurnMoment, screen: ScreenFormat): string[] {
  const last = view.steps.at(-1)?.step;
  const calls = view.calls.filter((call) => call.step === last);
  if (calls.length === 0 || view.endedAt !== null) return [];
  const lines = calls.map(
    (call) => `${escapeText(`${call.callId} ${call.tool}`)}  ${describePhase(call)[0]}`,
  );
  return ['', ...section(`calls of step ${last ?? 0}`, lines, screen)];
}

/** The facts about a turn and its state. */
function turnFacts(view: TurnView, { screen, now }: PrintPlace): TableFact[] {
  const { endedAt, unjudged } = view;
  return [
    ['turn', { text: escapeText(view.turn), paint: screen.style.strong }],
    ['state', stateCell(view.status, screen.style)],
    ['agent', escapeText(view.agent)],
    ['asked', escapeProse(view.prompt) || undefined],
    ['with', view.files && escapeProse(view.files.map(describeFile).join(', '))],
    ...originFacts(view.origin),
    ['part of', view.lineage && escapeText(describeLineage(view.lineage))],
    ['spent', limitsText(view)],
    ['schedule', view.schedule && escapeText(view.schedule)],
    ['started', relative(view.startedAt, now)],
    [
      'ended',
      endedAt === null
        ? undefined
        : `${relative(endedAt, now)} (took ${span(Date.parse(endedAt) - Date.parse(view.startedAt))})`,
    ],
    ['tokens', describeTokens(sumUsage(view.steps)) || undefined],
    ['on record', unjudged === 0 ? undefined : `${unjudged} signals that wait for a worker`],
  ];
}
