import { leavesOf } from '../../contract/leaves';
import type { Preview } from '../../contract/plan';
import type { InDoubtOpened, RequestOpened } from '../../history/events';
import { argumentLines } from './arguments';
import { previewLines } from './diff';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { expiry } from '../../contract/times';
import { countHidden, visible, visibleLines } from './visible';

/** What is printed about something that waits for a person. */
export interface WaitingPlace {
  turn: string;
  screen: Pick<Screen, 'width' | 'style'>;
  /** Milliseconds since 1970. */
  now: number;
  /** A command of ours as it has to be typed here. */
  command(args: string): string;
}

/** Where nothing is to be typed. */
type Quiet = Omit<WaitingPlace, 'command'>;

/** Characters of a digest that a person copies. */
const DIGEST_CHARS = 8;

/** A request in full, and the commands that decide it. */
export function requestLines(request: RequestOpened, place: WaitingPlace): string[] {
  return [...proposalLines(request, place), ...decideLines(request, place)];
}

/** What a request asks for: what will run, and the preview. Nothing is cut. */
export function proposalLines(request: RequestOpened, place: Quiet): string[] {
  const { screen } = place;
  return [
    ...factLines(requestFacts(request, place), { width: screen.width, quiet: screen.style.quiet }),
    ...section('arguments', argumentLines(request.arguments, inner(screen)), place),
    ...proposedLines(request, place),
    ...(request.preview === undefined
      ? []
      : section('what it does', previewLines(request.preview, screen.style), place)),
    ...hiddenLines(request, place),
  ];
}

/** A call in doubt in full, and the commands that resolve it. */
export function doubtLines(doubt: InDoubtOpened, place: WaitingPlace): string[] {
  const { style, width } = place.screen;
  const id = `${place.turn}/${doubt.callId}`;
  const resolve = (what: string): string => place.command(`resolve ${id} ${what} --reason "…"`);
  const facts: [string, Cell][] = [
    ['in doubt', { text: `${id}  ${visible(doubt.tool)}`, paint: style.warn }],
    ['why', { text: visible(doubt.message) }],
  ];
  return [
    ...factLines(facts, { width, quiet: style.quiet }),
    ...(doubt.partial === undefined
      ? []
      : section('known so far', visibleLines(doubt.partial, style.mark), place)),
    style.quiet('it happened:'),
    `  ${style.link(resolve('happened'))}`,
    style.quiet('it did not:'),
    `  ${style.link(resolve('did-not'))}`,
    style.quiet('start it once more (a new decision):'),
    `  ${style.link(resolve('run-again'))}`,
  ];
}

/** How many characters of a request do not show by themselves. */
export function hiddenIn({ arguments: args, preview }: RequestOpened): number {
  const leaves = leavesOf(args).flatMap(({ path, value }) => [path, typeof value === 'string' ? value : '']);
  return countHidden([...leaves, ...previewTexts(preview)].join('\n'));
}

function previewTexts(preview: Preview | undefined): string[] {
  if (preview?.plan === undefined || preview.plan.targetHash === '') return [preview?.text ?? ''];
  return [preview.plan.path, ...preview.plan.hunks.flatMap(({ lines }) => lines)];
}

/** The part of the digest that `--saw` takes. */
export function sawOf({ argsDigest }: RequestOpened): string {
  return argsDigest.slice(0, DIGEST_CHARS);
}

function requestFacts(request: RequestOpened, { turn, screen, now }: Quiet): [string, Cell][] {
  const { style } = screen;
  const id = `${turn}/${request.callId}`;
  const reason = request.policyReason;
  return [
    ['request', { text: `${id}  ${visible(request.tool)}`, paint: style.warn }],
    ['safety', { text: `${request.safety}; ${EFFECTS[request.effect]}` }],
    ...(reason === undefined ? [] : [['policy', { text: visible(reason) }] satisfies [string, Cell]]),
    ['expires', { text: expiry(request.deadline, now) }],
  ];
}

const EFFECTS = {
  pure: 'changes nothing',
  idempotent: 'a second run changes nothing more',
  unsafe: 'started at most once per decision',
} as const;

function section(name: string, lines: readonly string[], { screen }: Quiet): string[] {
  return [screen.style.quiet(`${name}:`), ...lines.map((line) => `  ${line}`.trimEnd())];
}

function inner(screen: WaitingPlace['screen']): WaitingPlace['screen'] {
  return { ...screen, width: screen.width - 2 };
}

function proposedLines({ proposed }: RequestOpened, place: Quiet): string[] {
  if (proposed === undefined) return [];
  return section('what the model asked for', argumentLines(proposed, inner(place.screen)), place);
}

function hiddenLines(request: RequestOpened, { screen }: Quiet): string[] {
  const hidden = hiddenIn(request);
  if (hidden === 0) return [];
  const text = `look twice: ${hidden} ${hidden === 1 ? 'character' : 'characters'} would not show and stand here as marks`;
  return [screen.style.warn(text)];
}

function decideLines(request: RequestOpened, place: WaitingPlace): string[] {
  const { style } = place.screen;
  const id = `${place.turn}/${request.callId}`;
  const hunks = request.preview?.plan?.hunks ?? [];
  const some = hunks.length > 1 ? [`  ${style.link(place.command(`approve ${id} --hunks 1`))}`] : [];
  return [
    style.quiet('decide:'),
    `  ${style.link(place.command(`approve ${id} --saw ${sawOf(request)}`))}`,
    ...some,
    `  ${style.link(place.command(`deny ${id} --reason "…"`))}`,
  ];
}
