import { LEAST_TO_SUMMARIZE } from '../../contract/limits';
import type { SessionControl, SessionRefusal } from '../../contract/session';

/** What an event says about the turns that the session still has word by word. */
type TurnStep = { type: string; turns?: number; status?: string; earlier?: readonly unknown[] };

/**
 * Counts the turns that the model still reads in full, in the way the session counts them. The session does not answer
 * a control that came by signal. From this count we know which of these controls it refuses.
 */
export class KeptTurns {
  private ended = 0;
  private isRunning = false;

  /** Updates the count by the next event of a run. The events have to come in order. */
  follow({ type, turns = 0, status, earlier = [] }: TurnStep): void {
    if (type === 'session_started') this.ended = earlier.length;
    else if (type === 'compacted') this.ended -= turns;
    else if (type === 'turn_ended' && status !== 'not_started') this.ended += 1;
    if (type === 'session_started' || type === 'turn_ended') this.isRunning = false;
    else if (type === 'turn_started') this.isRunning = true;
  }

  /** The number of turns. A running turn counts, too. */
  get count(): number {
    return this.ended + (this.isRunning ? 1 : 0);
  }

  /** Why the session refuses an action now. Undefined if it accepts the action. */
  refuses(action: SessionControl['action']): SessionRefusal | undefined {
    return action === 'compact' && this.count < LEAST_TO_SUMMARIZE ? 'refused' : undefined;
  }
}
