import type { RefusalCode } from '../../contract/decision';
import type { Effect, Safety } from '../../contract/tool';
import type { PathFate } from '../../history/compare';
import type { CallPhase, TurnView } from '../../history/view-types';
import type { TurnSummary } from '../../server/api';

/** What an effect means for the person who decides. */
export const EFFECT_WORDS: Readonly<Record<Effect, string>> = {
  pure: 'changes nothing',
  idempotent: 'a second run changes nothing more',
  unsafe: 'started at most once per decision',
};

export const SAFETY_WORDS: Readonly<Record<Safety, string>> = {
  safe: 'runs without a decision',
  cautious: 'is logged, then runs',
  dangerous: 'waits for a decision',
};

/** Why a decision was refused, and what happens now. */
export const REFUSAL_WORDS: Readonly<Record<RefusalCode, string>> = {
  unknown_call: 'There is no such request any more.',
  already_decided: 'Somebody decided it before you.',
  stale_args: 'It changed after you opened it. This is what it is now; look again.',
  invalid_arguments: 'The arguments do not fit the tool. Mend the marked fields.',
  expired: 'Its deadline has passed; nothing ran.',
  malformed: 'The decision could not be read.',
  cancelled: 'The turn was cancelled; nothing ran.',
  not_in_doubt: 'Its outcome is known by now.',
};

/** How a state looks: quiet, at work, asks a person, went well, went wrong. */
export type Tone = 'quiet' | 'busy' | 'ask' | 'good' | 'bad';

type State = TurnSummary['state'] | TurnView['status'];

const STATES: Readonly<Record<State, readonly [string, Tone]>> = {
  running: ['running', 'busy'],
  waiting: ['waits for a person', 'ask'],
  in_doubt: ['in doubt', 'ask'],
  answered: ['answered', 'good'],
  step_limit: ['step limit', 'bad'],
  failed: ['failed', 'bad'],
  cancelled: ['cancelled', 'quiet'],
  terminated: ['terminated', 'bad'],
  timed_out: ['timed out', 'bad'],
};

export function stateWords(state: State): readonly [string, Tone] {
  return STATES[state];
}

const PHASES: Readonly<Record<CallPhase, readonly [string, Tone]>> = {
  proposed: ['proposed', 'quiet'],
  requested: ['waits for a decision', 'ask'],
  replanning: ['a new plan is being made', 'busy'],
  approved: ['approved', 'good'],
  denied: ['denied', 'bad'],
  expired: ['expired', 'bad'],
  running: ['running', 'busy'],
  lost: ['outcome unknown', 'ask'],
  in_doubt: ['in doubt', 'ask'],
  done: ['done', 'good'],
  closed: ['closed with its turn', 'quiet'],
};

/** A call's phase; a call that is done without success is shown by its error. */
export function phaseWords(phase: CallPhase, success?: boolean): readonly [string, Tone] {
  if (phase === 'done' && success === false) return ['failed', 'bad'];
  return PHASES[phase];
}

/** What became of a call on one of two paths; a failure is told by its code. */
export function fateWords(fate: PathFate): readonly [string, Tone] {
  switch (fate) {
    case 'done':
      return ['done', 'good'];
    case 'would_run':
      return ['would run', 'ask'];
    case 'would_ask':
      return ['would ask a person, then run', 'ask'];
    case 'open':
      return ['not over yet', 'busy'];
    default:
      return [fate.replaceAll('_', ' '), 'bad'];
  }
}
