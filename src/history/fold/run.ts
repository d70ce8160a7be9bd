import { originOf } from '../../contract/fork';
import { isObject } from '../../contract/json';
import type { TranscriptEntry } from '../../contract/transcript';
import type { DecodedEvent, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import { defined } from '../defined';
import type { TurnEnded, TurnEvent } from '../events';
import { closeRest } from './closing';
import { is } from './guards';
import { headOf, makeState, type FoldState } from './state';
import { stepTaken } from './think';

/** A run starts: the first of a turn, or the next where one continued as new. Of a workflow that is no turn the type stands for the agent. */
export function runStarted(state: FoldState, event: EventOf<'started'>): TurnEvent[] {
  const { turn, runId, taskQueue, continuedFrom } = event;
  const input = is.turnInput(event.input)
    ? event.input
    : { agent: state.agent || (event.workflowType ?? ''), prompt: state.prompt };
  const isNext = continuedFrom !== undefined && continuedFrom === state.runId;
  const messages = carriedIn(event.input)?.transcript;
  const prompt = input.prompt || state.prompt || firstWords(messages);
  Object.assign(state, makeState(), { turn, runId, agent: input.agent, prompt, ...originIn(event) });
  const { agent } = input;
  const started: TurnEvent = {
    type: 'turn_started',
    ...headOf(event),
    turn,
    runId,
    agent,
    prompt,
    taskQueue,
    ...defined({ continuedFrom, carried: isNext || state.fork !== undefined ? undefined : messages }),
  };
  return isNext ? [started] : [started, ...forked(state, event)];
}

/** Holds for every run of a fork. */
function originIn({ input }: EventOf<'started'>): Pick<FoldState, 'fork'> {
  return is.turnInput(input) && is.forkInput(input.fork) ? { fork: originOf(input.fork) } : {};
}

/** What a fork begins with, or what a later run of it took along where the first one is not among the events. */
function forked(state: FoldState, event: EventOf<'started'>): TurnEvent[] {
  if (state.fork === undefined || !is.turnInput(event.input)) return [];
  const { transcript: taken = [], step = 0 } = carriedIn(event.input) ?? {};
  const { given } = event.input.fork ?? {};
  const told: TurnEvent = { type: 'forked', ...headOf(event), ...state.fork, taken };
  if (given === undefined) return [told];
  state.step = step + 1;
  return [told, ...stepTaken(state, event, { step: state.step, output: given, given: true })];
}

/** What a run took along; nothing for the first run of a turn that is no fork. */
function carriedIn(input: unknown): { transcript: TranscriptEntry[]; step?: number } | undefined {
  const carried = isObject(input) ? input['carried'] : undefined;
  return is.carried(carried) ? carried : undefined;
}

function firstWords(messages: readonly TranscriptEntry[] = []): string {
  const words = messages.find((entry) => entry.kind === 'words');
  return words?.kind === 'words' ? words.text : '';
}

/** A run ends. Calls that the turn closed get their results first. */
export function runEnded(state: FoldState, event: DecodedEvent): TurnEvent[] {
  const ending = endingOf(event);
  if (ending === undefined) return [];
  const ended: TurnEnded = { type: 'turn_ended', ...headOf(event), ...ending };
  return [...closeRest(state, event, ending.status === 'cancelled'), ended];
}

type Ending = Pick<TurnEnded, 'status' | 'answer' | 'result' | 'error'>;

function endingOf(event: DecodedEvent): Ending | undefined {
  switch (event.kind) {
    case 'completed':
      return completedWith(event.result);
    case 'failed':
      return { status: 'failed', error: errorOf(event) };
    case 'canceled':
      return { status: 'cancelled', error: { message: 'the turn was cancelled' } };
    case 'timed_out':
      return { status: 'timed_out', error: { message: 'the turn ran out of time' } };
    case 'terminated':
      return { status: 'terminated', error: { message: terminatedBy(event) } };
    default:
      return undefined;
  }
}

function completedWith(result: unknown): Ending {
  if (!is.turnResult(result)) return { status: 'answered' };
  return { status: result.status, answer: result.answer, result };
}

function errorOf({ failure }: EventOf<'failed'>): { message: string; type?: string } {
  const { message, type } = rootOf(failure);
  return { message, ...defined({ type }) };
}

function terminatedBy({ reason, identity }: EventOf<'terminated'>): string {
  const why = reason === '' ? '' : `: ${reason}`;
  return identity === '' ? `terminated${why}` : `terminated by ${identity}${why}`;
}
