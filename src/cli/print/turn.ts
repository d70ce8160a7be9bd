import type { Answered, DecisionMade, Resolved, TurnEvent } from '../../history/events';
import type { CallView, TurnView } from '../../history/view';
import { describeFile } from '../../contract/text/bytes';
import type { Context } from '../context';
import { recordLines } from './arguments';
import { eventLines } from './event';
import { previewLines } from './diff';
import {
  doubtLines,
  originFacts,
  requestLines,
  saysLines,
  type Story,
  storyFacts,
  type WaitingPlace,
} from './request';
import { questionLines } from './question';
import { describeRuling } from './ruling';
import { type Fact, factLines, labelCell, section, stateCell } from './table';
import { relative, span } from '../../contract/text/times';
import { escapeText, escapeLines, escapeProse, type Paint } from './escape';
import { outputOf, type ToolResult } from '../../contract/result';
import type { Pending, PendingActivity } from '../../client';
import { defined } from '../../contract/defined';
import { budgetText, spentText } from '../../contract/spending/budget';
import { sumUsage } from '../../contract/spending/usage';
import {
  describeActivity,
  describeLineage,
  describePhase,
  describeTokens,
  failingTaskText,
  grantText,
} from '../../history/labels';

/** Where a turn is printed; the turn's id comes with it. */
export type TurnPlace = Omit<WaitingPlace, 'turn'>;

/** Where a command prints a turn: the screen, the time, and the commands that a person types. */
export function placeOf({ screen, command }: Pick<Context, 'screen' | 'command'>) {
  return { screen, now: Date.now(), command };
}

/** A whole turn: facts, timeline, and what waits for a person. */
export function turnLines(view: TurnView, events: readonly TurnEvent[], place: TurnPlace): string[] {
  const { screen } = place;
  return [
    ...factLines(turnFacts(view, place), screen),
    ...section('context', contextLines(view, screen), screen),
    '',
    ...events.flatMap((event) => eventLines(event, screen)),
    ...openLines(view, place),
  ];
}

/** What the model knew before the conversation. */
function contextLines({ steps }: TurnView, { style }: TurnPlace['screen']): string[] {
  const known = steps.find(({ context }) => context !== undefined)?.context;
  if (known === undefined) return [];
  const lines = escapeLines(known, style.mark, 'prose');
  const more = lines.length - MOST_CONTEXT;
  return more <= 1
    ? lines
    : [...lines.slice(0, MOST_CONTEXT), style.quiet(`… ${more} more lines; countersign timeline shows more`)];
}

/** As many as leave room for the timeline. */
const MOST_CONTEXT = 10;

/** Everything of a turn that waits for a person, with the commands that move it on. */
export function openLines(view: TurnView, place: TurnPlace): string[] {
  const at = { ...place, turn: view.turn, calls: view.calls };
  return [
    ...view.requests.flatMap((request) => ['', ...requestLines(request, at)]),
    ...view.questions.flatMap((question) => ['', ...questionLines(question, at)]),
    ...view.calls
      .filter(({ phase }) => phase === 'in_doubt')
      .flatMap((call) => ['', ...doubtLines(call, at)]),
  ];
}

/** What led to a call, from the record of its turn. */
export function storyOf({ agent, prompt, origin, steps, lineage }: TurnView, { step }: CallView): Story {
  const says = steps.findLast((one) => one.step === step)?.text ?? '';
  return { agent, asked: prompt, says, ...defined({ origin, lineage }) };
}

/** One call: what waits, or how it ended. */
export function callLines(call: CallView, place: WaitingPlace): string[] {
  if (call.phase === 'requested' && call.request !== undefined)
    return requestLines(call.request, { ...place, calls: [call] });
  if (call.phase === 'asked' && call.question !== undefined) return questionLines(call.question, place);
  const { screen } = place;
  const judged = [call.decisions, call.resolutions, call.answers].flatMap((said) =>
    judgedLines(said, screen),
  );
  const { result, note } = call;
  const { mark } = screen.style;
  return [
    ...factLines(callFacts(call, place), screen),
    ...recordLines(call, screen),
    ...(call.phase === 'in_doubt'
      ? []
      : section('preview', previewLines(call.request?.preview, screen.style, screen.width - 2), screen)),
    ...saysLines(place),
    ...section('on record', judged, screen),
    ...section('result', result === undefined ? [] : resultLines(result, note, mark), screen),
    ...section('the model also reads', note === undefined ? [] : escapeLines(note, mark), screen),
    ...(call.phase === 'in_doubt' ? ['', ...doubtLines(call, place)] : []),
  ];
}

/** What the tool gave; of a failure what it says, and what came before it. */
function resultLines(result: ToolResult, note: string | undefined, mark: Paint): string[] {
  const output = outputOf(result, note);
  const failure = result.error === undefined ? [] : escapeLines(result.error.message, mark);
  return [...failure, ...(output === '' && failure.length > 0 ? [] : escapeLines(output, mark))];
}

/** As many as a person reads: anyone can send a thousand. */
const MOST_JUDGED = 20;

/** The newest of what people said to a call and the accepted ones, and how many others there are. */
function judgedLines(
  events: readonly (DecisionMade | Resolved | Answered)[],
  screen: TurnPlace['screen'],
): string[] {
  const newest = events.length - MOST_JUDGED;
  const chosen = events.filter(({ judgement }, at) => at >= newest || judgement.accepted === true);
  const shown = chosen.slice(-2 * MOST_JUDGED);
  const left = events.length - shown.length;
  const more = `${left} more that were refused; countersign timeline shows all`;
  return [
    ...(left === 0 ? [] : [screen.style.quiet(more)]),
    ...shown.flatMap((event) => eventLines(event, screen)),
  ];
}

/** What a turn is, and how far. */
export function turnFacts(view: TurnView, { screen, now }: TurnPlace): Fact[] {
  const { endedAt, unjudged } = view;
  return [
    ['turn', { text: escapeText(view.turn), paint: screen.style.strong }],
    ['state', stateCell(view.status, screen.style)],
    ['agent', escapeText(view.agent)],
    ['asked', escapeProse(view.prompt)],
    ['with', view.files && escapeProse(view.files.map(describeFile).join(', '))],
    ...originFacts(view.origin),
    ['part of', lineageText(view.lineage)],
    ['spent', limitsText(view)],
    ['schedule', view.schedule === undefined ? undefined : escapeText(view.schedule)],
    ['started', relative(view.startedAt, now)],
    [
      'ended',
      endedAt === null ? undefined : `${relative(endedAt, now)} (took ${took(view.startedAt, endedAt)})`,
    ],
    ['tokens', describeTokens(sumUsage(view.steps)) || undefined],
    ['on record', unjudged === 0 ? undefined : `${unjudged} signals that wait for a worker`],
  ];
}

/** The calls that led to a child turn, that of the first turn first. */
function lineageText(lineage: TurnView['lineage']): string | undefined {
  return lineage && escapeText(describeLineage(lineage));
}

/** What was spent and may be, where either is limited or has a price. */
export function limitsText({ budget, spent }: Pick<TurnView, 'budget' | 'spent'>): string | undefined {
  const limits = budget === undefined ? '' : budgetText(budget);
  if (spent === undefined || (limits === '' && spent.money === undefined)) return undefined;
  return escapeText(`${spentText(spent)}${limits === '' ? '' : `; budget ${limits}`}`);
}

function took(startedAt: string, endedAt: string): string {
  return span(Date.parse(endedAt) - Date.parse(startedAt));
}

function callFacts(call: CallView, place: WaitingPlace): Fact[] {
  const { strong, bad } = place.screen.style;
  const { result, attempts = 1, durationMs } = call;
  const error = result?.error;
  const tries = attempts < 2 ? '' : `, ${attempts} attempts`;
  return [
    [
      'call',
      { text: `${escapeText(`${place.turn}/${call.callId}`)}  ${escapeText(call.tool)}`, paint: strong },
    ],
    ...storyFacts(place),
    ['state', labelCell(describePhase(call), place.screen.style)],
    ...(call.ruling === undefined ? [] : describeRuling(call.ruling)).map((line): Fact => [
      'policy',
      escapeText(line),
    ]),
    ['runs by', escapeText(grantText('', call.grant)) || undefined],
    ['error', error === undefined ? undefined : { text: escapeText(error.code), paint: bad }],
    ['child turn', call.child === undefined ? undefined : { text: escapeText(call.child), paint: strong }],
    ['took', durationMs === undefined ? undefined : `${span(durationMs)}${tries}`],
  ];
}

/** What runs right now, one line each, queues that nobody works on, and why the turn itself stands still. */
export function pendingLines({ failingTask, activities, idleQueues }: Pending, now: number): string[] {
  return [
    ...idleQueues.map(
      (queue) =>
        `no worker takes work from the queue ${escapeText(queue)}: start one with \`countersign worker\``,
    ),
    ...(failingTask === undefined ? [] : [escapeText(failingTaskText(failingTask))]),
    ...activities.map((activity) => activityLine(activity, now)),
  ];
}

function activityLine(activity: PendingActivity, now: number): string {
  const { callId, name } = activity;
  const what = callId === undefined ? 'the model' : `${callId} ${name}`;
  return escapeText(`${what} ${describeActivity(activity, now)}`);
}
