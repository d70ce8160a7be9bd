import {
  changedText,
  describeVoting,
  howKnown,
  describeEffect,
  describeFacts,
  describeLineage,
  describeProgress,
} from '../../history/labels';
import { countMarks, deceivingIn } from '../../contract/text/unsafe-text';
import type { ChangedTool } from '../../contract/worker-tools';
import { SAW_DIGITS } from '../../contract/digest';
import { shellWord } from '../../contract/text/shell-word';
import type { RequestOpened } from '../../history/events';
import { allowedBy } from '../../history/decisions';
import { type CallView, keyOfStart } from '../../history/view';
import type { TurnOrigin, Ancestor } from '../../contract/call';
import { argumentLines, changeLines } from './arguments';
import { previewLines } from '../../history/preview-lines';
import type { ScreenFormat } from './screen';
import { wrapAll } from '../../contract/text/columns';
import { type TableFact, factLines, inner, section } from './table';
import { dateTime, expiry, relative } from '../../contract/text/times';
import { escapeText, escapeLines, escapeProse } from '../../contract/text/escape';

/** Everything that is needed to print an item that waits for a person. */
export interface WaitingPlace {
  turn: string;
  screen: ScreenFormat;
  /** Milliseconds since 1970. */
  now: number;
  /** What led to the call. Absent if this was already printed above. */
  story?: Story;
  /** The calls of the turn. The people who voted on them are shown. */
  calls?: readonly CallView[];
  /** Requests whose tool changed after they were made. */
  changed?: readonly ChangedTool[];
  /** A command of this program as a person types it here. Absent if nothing can be typed. */
  command?(args: string): string;
}

/** What led to a call. The model's words are not facts, so they are printed below the facts, under the model's name. */
export interface Story {
  agent: string;
  /** The prompt of the turn. */
  asked: string;
  /** The person who asked, and the metadata of the turn. */
  origin?: TurnOrigin;
  /** Only in a child turn: the calls that led to it. */
  lineage?: readonly Ancestor[];
  /** What the model said in the step that proposed the call; may be empty. */
  says: string;
  /** The model that said it. Absent if the step is not known. */
  model?: string;
}

/** A request in full, and the commands that decide it. */
export function requestLines(request: RequestOpened, place: WaitingPlace): string[] {
  return [...proposalLines(request, place), ...decideLines(request, place)];
}

/** The content of a request: the call that will run, and the preview. Nothing is cut. */
export function proposalLines(request: RequestOpened, place: WaitingPlace): string[] {
  const { screen } = place;
  return [
    ...factLines(requestFacts(request, place), screen),
    ...changedLines(request, place),
    ...section(
      'against what was asked for',
      request.edit === undefined || request.proposed === undefined
        ? []
        : changeLines(request.proposed, request.arguments, screen.style),
      screen,
    ),
    ...section('what it does', previewLines(request.preview, screen.style, screen.width - 2), screen),
    ...section('arguments', argumentLines(request.arguments, inner(screen), request.preview?.plan), screen),
    ...saysLines(place),
    ...hiddenLines(request, place),
  ];
}

/** Warns that an approved call would be refused, because the tool has changed since the request was made. */
export function changedLines(
  { callId, tool }: RequestOpened,
  { changed = [], screen }: Pick<WaitingPlace, 'changed' | 'screen'>,
): string[] {
  const found = changed.find((one) => one.callId === callId);
  if (found === undefined) return [];
  const then =
    found.now === 'gone'
      ? 'would wait for a worker that has it, and expire without one'
      : 'would be refused and nothing would run';
  return [
    screen.style.bad(`the tool ${escapeText(tool)} ${changedText(found.now)}: approved, the call ${then}.`),
    screen.style.bad('Deny it, so that the model can ask again.'),
  ];
}

/** What the model said, under its name. */
export function saysLines({ story, screen }: WaitingPlace): string[] {
  const says = story?.says ?? '';
  if (says === '') return [];
  const lines = escapeLines(says, screen.style.mark, 'prose');
  return section('the model says', wrapAll(lines, screen.width - 2), screen);
}

/** The agent of the call and what the user asked for, as facts. */
export function storyFacts({ story }: WaitingPlace): TableFact[] {
  if (story === undefined) return [];
  return [
    ['agent', escapeText(story.agent)],
    ['model', story.model && escapeText(story.model)],
    ['part of', story.lineage && escapeText(describeLineage(story.lineage))],
    ['asked', escapeProse(story.asked) || undefined],
    ...originFacts(story.origin),
  ];
}

/** The person who asked for a turn, and the turn's metadata, as facts. */
export function originFacts({ requester, metadata }: TurnOrigin = {}): TableFact[] {
  return [
    ['asked by', requester === undefined ? undefined : `${escapeText(requester)} (as claimed)`],
    ['with', metadata && `${escapeText(describeFacts(metadata))} (as claimed)`],
  ];
}

/** A call in doubt in full, and the commands that resolve it. */
export function doubtLines(call: CallView, place: WaitingPlace): string[] {
  const { doubt } = call;
  if (doubt === undefined) return [];
  const { screen } = place;
  const { warn, mark } = screen.style;
  const id = `${place.turn}/${doubt.callId}`;
  const facts: TableFact[] = [
    ['in doubt', { text: `${escapeText(id)}  ${escapeText(doubt.tool)}`, paint: warn }],
    ['why', escapeText(doubt.message)],
    ['progress', doubt.progress && escapeText(describeProgress(doubt.progress))],
    ...startFacts(call, place),
  ];
  return [
    ...factLines(facts, screen),
    ...section('what it does', previewLines(call.request?.preview, screen.style), screen),
    ...section('known so far', doubt.partial === undefined ? [] : escapeLines(doubt.partial, mark), screen),
    ...resolveLines(id, place),
  ];
}

/** The time when a call in doubt started, the person who allowed it, and the key to look for in other systems. */
function startFacts(call: CallView, { now }: WaitingPlace): TableFact[] {
  const { startedAt } = call;
  const by = allowedBy(call);
  const key = keyOfStart(call);
  return [
    ['started', startedAt === undefined ? undefined : momentText(startedAt, now)],
    [
      by?.type === 'resolved' ? 'run again by' : 'approved by',
      by && escapeText(`${by.approver} (${howKnown(by)}), ${momentText(by.at, now)}`),
    ],
    ['its key', key && escapeText(`${key} (idempotency key: its handler was given it)`)],
  ];
}

/** A time, and how long ago it was. */
function momentText(iso: string, now: number) {
  return `${dateTime(iso)}, ${relative(iso, now)}`;
}

function resolveLines(id: string, { screen: { style }, command }: WaitingPlace): string[] {
  if (command === undefined) return [];
  const resolve = (what: string) =>
    `  ${style.link(command(`resolve ${shellWord(id)} ${what} --reason "…"`))}`;
  return [
    style.quiet('it happened:'),
    resolve('happened'),
    style.quiet('it did not:'),
    resolve('did-not'),
    style.quiet('start it once more (a new decision):'),
    resolve('run-again'),
  ];
}

/** The number of characters in a request that are not visible, or that look like others. */
export function hiddenIn(request: RequestOpened): number {
  return countMarks(deceivingIn(request));
}

/** The part of the digest that `--saw` takes. */
export function sawOf({ seenDigest }: RequestOpened): string {
  return seenDigest.slice(0, SAW_DIGITS);
}

function requestFacts(request: RequestOpened, place: WaitingPlace): TableFact[] {
  const { turn, screen, now } = place;
  const id = `${turn}/${request.callId}`;
  const { policyReason: reason, note, notes, edit } = request;
  const call = place.calls?.find(({ callId }) => callId === request.callId);
  const voting = call && describeVoting(call, now);
  return [
    ['request', { text: `${escapeText(id)}  ${escapeText(request.tool)}`, paint: screen.style.warn }],
    ...storyFacts(place),
    ['server', request.server && escapeText(request.server)],
    ['safety', `${request.safety}; ${describeEffect(request)}`],
    ['policy', reason && escapeProse(reason)],
    ['notes', notes && escapeText(notes.join('; '))],
    ['decides', voting && escapeText(voting)],
    ['again', note && escapeText(note)],
    [
      'changed',
      edit && escapeText(`by ${edit.approver}${edit.reason === undefined ? '' : `: ${edit.reason}`}`),
    ],
    ['expires', expiry(request.deadline, now)],
  ];
}

function hiddenLines(request: RequestOpened, { screen }: WaitingPlace): string[] {
  const { hidden, alike, turned } = deceivingIn(request);
  const characters = hidden === 1 ? 'character' : 'characters';
  const places = alike === 1 ? 'place passes' : 'places pass';
  const warnings = [
    ...(hidden === 0 ? [] : [`${hidden} ${characters} would not show and stand here as marks`]),
    ...(alike === 0 ? [] : [`${alike} ${places} for other letters or signs`]),
    ...(turned === 0
      ? []
      : [`${turned} ${turned === 1 ? 'word' : 'words'} from right to left, as code points`]),
  ];
  return warnings.length === 0 ? [] : [screen.style.warn(`look twice: ${warnings.join('; ')}`)];
}

function decideLines(request: RequestOpened, place: WaitingPlace): string[] {
  const { turn, screen, command } = place;
  const { style } = screen;
  if (command === undefined) return [];
  const id = shellWord(`${turn}/${request.callId}`);
  const type = (args: string) => `  ${style.link(command(args))}`;
  const hunks = request.preview?.plan?.hunks ?? [];
  const approve = [
    type(`approve ${id} --saw ${shellWord(sawOf(request))}`),
    ...(hunks.length > 1 ? [type(`approve ${id} --hunks 1`)] : []),
  ];
  return [
    style.quiet('decide:'),
    ...(changedLines(request, place).length > 0 ? [] : approve),
    type(`deny ${id} --reason "…"`),
  ];
}
