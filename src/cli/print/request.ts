import { deceivingIn } from '../../contract/deceiving';
import type { InDoubtOpened, RequestOpened } from '../../history/events';
import { argumentLines } from './arguments';
import { previewLines } from './diff';
import type { Screen } from './screen';
import { factLines, type Cell } from './table';
import { expiry } from '../../contract/times';
import { visible, visibleLines } from './visible';

/** What is printed about something that waits for a person. */
export interface WaitingPlace {
  turn: string;
  screen: Pick<Screen, 'width' | 'style'>;
  /** Milliseconds since 1970. */
  now: number;
  /** What led to the call; absent where it stands above already. */
  story?: Story;
  /** A command of ours as it has to be typed here; absent where nothing is to be typed. */
  command?(args: string): string;
}

/** What led to a call. The words of the model are no facts, so they stand below those, under its name. */
export interface Story {
  agent: string;
  /** What the user asked for. */
  asked: string;
  /** What the model said in the step that proposed the call; may be empty. */
  says: string;
}

/** Characters of a digest that a person copies. */
const DIGEST_CHARS = 8;

/** A request in full, and the commands that decide it. */
export function requestLines(request: RequestOpened, place: WaitingPlace): string[] {
  return [...proposalLines(request, place), ...decideLines(request, place)];
}

/** What a request asks for: what will run, and the preview. Nothing is cut. */
export function proposalLines(request: RequestOpened, place: WaitingPlace): string[] {
  const { screen } = place;
  return [
    ...factLines(requestFacts(request, place), { width: screen.width, quiet: screen.style.quiet }),
    ...section('arguments', argumentLines(request.arguments, inner(screen)), place),
    ...proposedLines(request, place),
    ...(request.preview === undefined
      ? []
      : section('what it does', previewLines(request.preview, screen.style), place)),
    ...saysLines(place),
    ...hiddenLines(request, place),
  ];
}

/** What the model said, under its name. */
export function saysLines(place: WaitingPlace): string[] {
  const says = place.story?.says ?? '';
  return says === '' ? [] : section('the model says', visibleLines(says, place.screen.style.mark), place);
}

/** Who the call is for and what was asked, as facts. */
export function storyFacts({ story }: WaitingPlace): [string, Cell][] {
  if (story === undefined) return [];
  return [
    ['agent', { text: visible(story.agent) }],
    ['asked', { text: visible(story.asked) }],
  ];
}

/** A call in doubt in full, and the commands that resolve it. */
export function doubtLines(doubt: InDoubtOpened, place: WaitingPlace): string[] {
  const { style, width } = place.screen;
  const id = `${place.turn}/${doubt.callId}`;
  const facts: [string, Cell][] = [
    ['in doubt', { text: `${id}  ${visible(doubt.tool)}`, paint: style.warn }],
    ['why', { text: visible(doubt.message) }],
  ];
  return [
    ...factLines(facts, { width, quiet: style.quiet }),
    ...(doubt.partial === undefined
      ? []
      : section('known so far', visibleLines(doubt.partial, style.mark), place)),
    ...resolveLines(id, place),
  ];
}

function resolveLines(id: string, { screen: { style }, command }: WaitingPlace): string[] {
  if (command === undefined) return [];
  const resolve = (what: string): string => `  ${style.link(command(`resolve ${id} ${what} --reason "…"`))}`;
  return [
    style.quiet('it happened:'),
    resolve('happened'),
    style.quiet('it did not:'),
    resolve('did-not'),
    style.quiet('start it once more (a new decision):'),
    resolve('run-again'),
  ];
}

/** How many characters of a request do not show by themselves, or pass for others. */
export function hiddenIn(request: RequestOpened): number {
  const { hidden, alike } = deceivingIn(request);
  return hidden + alike;
}

/** The part of the digest that `--saw` takes. */
export function sawOf({ argsDigest }: RequestOpened): string {
  return argsDigest.slice(0, DIGEST_CHARS);
}

function requestFacts(request: RequestOpened, place: WaitingPlace): [string, Cell][] {
  const { turn, screen, now } = place;
  const id = `${turn}/${request.callId}`;
  const reason = request.policyReason;
  return [
    ['request', { text: `${id}  ${visible(request.tool)}`, paint: screen.style.warn }],
    ...storyFacts(place),
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

function section(name: string, lines: readonly string[], { screen }: WaitingPlace): string[] {
  return [screen.style.quiet(`${name}:`), ...lines.map((line) => `  ${line}`.trimEnd())];
}

function inner(screen: WaitingPlace['screen']): WaitingPlace['screen'] {
  return { ...screen, width: screen.width - 2 };
}

function proposedLines({ proposed }: RequestOpened, place: WaitingPlace): string[] {
  if (proposed === undefined) return [];
  return section('what the model asked for', argumentLines(proposed, inner(place.screen)), place);
}

function hiddenLines(request: RequestOpened, { screen }: WaitingPlace): string[] {
  const { hidden, alike } = deceivingIn(request);
  const told = [
    ...(hidden === 0 ? [] : [`${characters(hidden)} would not show and stand here as marks`]),
    ...(alike === 0
      ? []
      : [`${alike} ${alike === 1 ? 'place passes' : 'places pass'} for other letters or signs`]),
  ];
  return told.length === 0 ? [] : [screen.style.warn(`look twice: ${told.join('; ')}`)];
}

function characters(count: number): string {
  return `${count} ${count === 1 ? 'character' : 'characters'}`;
}

function decideLines(request: RequestOpened, { turn, screen: { style }, command }: WaitingPlace): string[] {
  if (command === undefined) return [];
  const id = `${turn}/${request.callId}`;
  const type = (args: string): string => `  ${style.link(command(args))}`;
  const hunks = request.preview?.plan?.hunks ?? [];
  return [
    style.quiet('decide:'),
    type(`approve ${id} --saw ${sawOf(request)}`),
    ...(hunks.length > 1 ? [type(`approve ${id} --hunks 1`)] : []),
    type(`deny ${id} --reason "…"`),
  ];
}
