import type { PreparedCall, RemoteCall } from './call';
import type { ThinkOutput } from './think';

/** `dry`: calls that have an effect or need a decision do not run, they are recorded. `live`: they do run. */
export const WORLDS = ['dry', 'live'] as const;
export type World = (typeof WORLDS)[number];

/** Where a forked turn comes from, and what holds for all of it. */
export interface ForkOrigin {
  /** The turn it was forked from. */
  of: string;
  /** The call, or the step, from which on it goes its own way. */
  from: string;
  world: World;
  /** What was made otherwise at that point. Absent: nothing, or the model alone. */
  changed?: 'arguments' | 'decision' | 'reply';
  /** One of the agent's `models`, by name. Absent: the agent's own model. */
  model?: string;
}

/** What a forked turn is started with. */
export interface ForkInput extends ForkOrigin {
  /** The step it begins with, taken from the record. Absent: the model is asked. Never carried into a next run. */
  given?: ThinkOutput;
}

/** What holds for all runs of a fork. */
export function originOf(fork: ForkInput): ForkOrigin {
  const { given: _given, ...origin } = fork;
  return origin;
}

/**
 * A call as prepared anew. One that was started already in the turn that this is a fork of never runs a second time
 * without a person, whatever safety and policy say.
 */
export function askFirst(asked: RemoteCall, prepared: PreparedCall): PreparedCall {
  const reason = asked.askFirst;
  if (reason === undefined || prepared.kind !== 'run' || prepared.settings.effect === 'pure') return prepared;
  return { ...prepared, kind: 'ask', policyReason: reason };
}
