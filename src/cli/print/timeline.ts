import type { Usage } from '../../contract/think';
import type { TurnEvent } from '../../history/events';
import type { Timeline, TimelineCall, TimelineStep } from '../../history/timeline';
import type { StepView } from '../../history/view';
import { recordLines } from './call-records';
import { eventLines } from './event';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { span } from '../../contract/times';
import { openLines, turnFacts, type TurnPlace } from './turn';
import { visible, visibleLines } from './visible';

type Look = Pick<Screen, 'width' | 'style'>;

const INDENT = 2;

/** A turn step by step: each reply of the model, each call of it, and what became of it. */
export function timelineLines(timeline: Timeline, place: TurnPlace): string[] {
  const { screen } = place;
  const facts = [...turnFacts(timeline.view, place), ...moreFacts(timeline)];
  return [
    ...factLines(facts, { width: screen.width, quiet: screen.style.quiet }),
    ...timeline.steps.flatMap((step) => ['', ...stepLines(step, screen)]),
    ...openLines(timeline.view, place),
  ];
}

function moreFacts({ runs, usage }: Timeline): [string, Cell][] {
  const tokens = tokensOf(usage);
  return [
    ...(tokens === '' ? [] : [['tokens', { text: tokens }] satisfies [string, Cell]]),
    ...(runs.length < 2
      ? []
      : [['runs', { text: `${runs.length}, because its history was long` }] satisfies [string, Cell]]),
  ];
}

/** Told by the step's own line. */
const IN_HEAD: readonly TurnEvent['type'][] = ['thinking', 'think_retried', 'step'];

function stepLines(step: TimelineStep, screen: Look): string[] {
  return [
    ...(step.step === 0 ? [] : headLines(step, screen)),
    ...step.calls.flatMap((call) => indented(callLines(call, inner(screen)))),
    ...step.events.filter((event) => !isInHead(event)).flatMap((event) => eventLines(event, screen)),
  ];
}

function isInHead({ type }: TurnEvent): boolean {
  return IN_HEAD.includes(type);
}

function headLines({ step, reply, undone, events }: TimelineStep, screen: Look): string[] {
  const { style } = screen;
  const back = undone ? style.warn(' (taken back by a reset)') : '';
  const head = `${style.strong(`step ${step}`)}${back}`;
  if (reply === undefined) return [`${head}  the model was asked`];
  const retried =
    reply.lastFailure === undefined ? [] : [style.warn(`  tried again: ${visible(reply.lastFailure)}`)];
  return [
    `${head}  ${style.quiet(`${replyFacts(reply)}${numbersOf(events.filter(isInHead))}`)}`,
    ...retried,
    ...textLines(reply, screen),
  ];
}

function replyFacts({ askedAt, repliedAt, attempts, model, finishReason, usage }: StepView): string {
  const took = `replied after ${span(Date.parse(repliedAt) - Date.parse(askedAt))}`;
  const tries = attempts > 1 ? [`${attempts} attempts`] : [];
  const named = [model, finishReason, tokensOf(usage)]
    .filter((text) => text !== '')
    .map((text) => visible(text));
  return [took, ...tries, ...named].join(', ');
}

/** The answer comes with the turn's end. */
function textLines({ text, callIds }: StepView, { style }: Look): string[] {
  if (callIds.length === 0 || text.trim() === '') return [];
  return visibleLines(text.trimEnd(), style.mark).map((line) => `${style.quiet('  │')} ${line}`.trimEnd());
}

function callLines(call: TimelineCall, screen: Look): string[] {
  const { callId, tool, phase, events } = call;
  const { style } = screen;
  const head = `${style.strong(`${callId} ${visible(tool)}`)}  ${phase.replaceAll('_', ' ')}${timesOf(call)}${style.quiet(numbersOf(events))}`;
  return [
    head,
    ...indented(recordLines(call, inner(screen))),
    ...indented(events.flatMap((event) => eventLines(event, inner(screen)))),
  ];
}

function timesOf({ durationMs, attempts, waitedMs }: TimelineCall): string {
  const parts = [
    ...(waitedMs === undefined ? [] : [`waited ${span(waitedMs)} for a person`]),
    ...(durationMs === undefined ? [] : [`ran ${span(durationMs)}`]),
    ...(attempts === undefined || attempts < 2 ? [] : [`${attempts} attempts`]),
  ];
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

/** The history events that something was made from, as `--at` takes them. */
function numbersOf(events: readonly TurnEvent[]): string {
  const [first, last] = [events.at(0)?.eventId, events.at(-1)?.eventId];
  if (first === undefined || last === undefined) return '';
  return first === last ? `  #${first}` : `  #${first}–#${last}`;
}

function tokensOf({ inputTokens, outputTokens, totalTokens }: Usage = {}): string {
  const parts = [
    ...(inputTokens === undefined ? [] : [`${inputTokens.toLocaleString('en-US')} in`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens.toLocaleString('en-US')} out`]),
  ];
  if (parts.length > 0) return `${parts.join(', ')} tokens`;
  return totalTokens === undefined ? '' : `${totalTokens.toLocaleString('en-US')} tokens`;
}

function inner(screen: Look): Look {
  return { ...screen, width: screen.width - INDENT };
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `${' '.repeat(INDENT)}${line}`.trimEnd());
}
