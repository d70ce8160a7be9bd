import type { Answered, DecisionMade, Resolved } from '../../history/events';
import type { CallView, TurnView } from '../../history/view';
import { recordLines } from './arguments';
import { eventLines } from './event';
import { previewLines } from '../../history/preview-lines';
import { doubtLines, requestLines, saysLines, type Story, storyFacts, type WaitingPlace } from './request';
import { questionLines } from './question';
import { describeRuling } from './ruling';
import { type TableFact, factLines, labelCell, section } from './table';
import { span } from '../../contract/text/times';
import { escapeText, escapeLines, type Paint } from '../../contract/text/escape';
import { outputOf, type ToolResult } from '../../contract/result';
import type { Pending } from '../../client';
import { budgetText, spentText } from '../../contract/spending/budget';
import { describeActivity, describePhase, failingTaskText, grantText } from '../../history/labels';
import { describeModel } from '../../history/model-label';

/** Everything that is needed to print a turn, apart from the turn's id. */
export type PrintPlace = Omit<WaitingPlace, 'turn'>;

/** Everything in a turn that waits for a person, with the commands that continue the turn. */
export function openLines(view: TurnView, place: PrintPlace): string[] {
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
  const reply = steps.findLast((one) => one.step === step);
  const model = reply && describeModel(reply);
  return { agent, asked: prompt, says: reply?.text ?? '', origin, lineage, model };
}

/** One call: the request or question that waits, or how the call ended. */
export function callLines(call: CallView, place: WaitingPlace): string[] {
  if (call.phase === 'request' && call.request)
    return requestLines(call.request, { ...place, calls: [call] });
  if (call.phase === 'question' && call.question) return questionLines(call.question, place);
  const { screen } = place;
  const judged = [call.decisions, call.resolutions, call.answers].flatMap((said) =>
    judgedLines(said, screen),
  );
  const { result, note } = call;
  const { mark } = screen.style;
  return [
    ...factLines(callFacts(call, place), screen),
    ...(call.phase === 'in_doubt'
      ? []
      : section('preview', previewLines(call.request?.preview, screen.style, screen.width - 2), screen)),
    ...recordLines(call, screen),
    ...saysLines(place),
    ...section('on record', judged, screen),
    ...section('result', result ? resultLines(result, note, mark) : [], screen),
    ...section('the model also reads', note === undefined ? [] : escapeLines(note, mark), screen),
    ...(call.phase === 'in_doubt' ? ['', ...doubtLines(call, place)] : []),
  ];
}

/** The output of the tool. For a failure, its message, and the output that came before it. */
function resultLines(result: ToolResult, note: string | undefined, mark: Paint): string[] {
  const output = outputOf(result, note);
  const failure = result.error ? escapeLines(result.error.message, mark) : [];
  return [...failure, ...(output === '' && failure.length > 0 ? [] : escapeLines(output, mark))];
}

/** The most decisions that are shown, because anyone can send a thousand. */
const MOST_JUDGED = 20;

/** The newest decisions and answers of people to a call, the accepted ones, and the number of the others. */
function judgedLines(
  events: readonly (DecisionMade | Resolved | Answered)[],
  screen: PrintPlace['screen'],
): string[] {
  const newest = events.length - MOST_JUDGED;
  const chosen = events.filter(({ judgement }, at) => at >= newest || judgement.accepted === true);
  const shown = chosen.slice(-2 * MOST_JUDGED);
  const left = events.length - shown.length;
  const more = `${left} more that were refused; the whole turn shows them`;
  return [
    ...(left === 0 ? [] : [screen.style.quiet(more)]),
    ...shown.flatMap((event) => eventLines(event, screen)),
  ];
}

/** The spent budget and its limits. Undefined if the turn has no limit and no price. */
export function limitsText({ budget, spent }: Pick<TurnView, 'budget' | 'spent'>): string | undefined {
  const limits = budget ? budgetText(budget) : '';
  if (spent === undefined || (limits === '' && spent.money === undefined)) return undefined;
  return escapeText(`${spentText(spent)}${limits === '' ? '' : `; budget ${limits}`}`);
}

function callFacts(call: CallView, place: WaitingPlace): TableFact[] {
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
    ['policy', call.ruling && escapeText(describeRuling(call.ruling))],
    ['runs by', escapeText(grantText('', call.grant)) || undefined],
    ['error', error && { text: escapeText(error.code), paint: bad }],
    ['child turn', call.child === undefined ? undefined : { text: escapeText(call.child), paint: strong }],
    ['took', durationMs === undefined ? undefined : `${span(durationMs)}${tries}`],
  ];
}

/**
 * The running activities, one in a line, the queues without a worker, and the reason why the turn itself does not
 * progress.
 */
export function pendingLines({ failingTask, activities, idleQueues, lacks }: Pending, now: number): string[] {
  const others = lacks && escapeText(lacks.there.join(', '));
  return [
    ...(lacks
      ? [
          `no worker has the agent ${escapeText(lacks.agent)}: those of its queue have ${others}. An approved call would wait for one`,
        ]
      : []),
    ...idleQueues.map(
      (queue) =>
        `no worker takes work from the queue ${escapeText(queue)}: start one with \`countersign worker\``,
    ),
    ...(failingTask ? [escapeText(failingTaskText(failingTask))] : []),
    ...activities.map((activity) => {
      const { callId, name } = activity;
      const what = callId === undefined ? 'the model' : `${callId} ${name}`;
      return escapeText(`${what} ${describeActivity(activity, now)}`);
    }),
  ];
}
