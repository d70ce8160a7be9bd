import { z } from 'zod';
import { frameOf, type ReadLine } from '../../history/audit/read';
import { isDecision } from './lines';

/** A decision, and the record in which its worker says by which key it counted the vote. Absent: there is none. */
export interface Explained {
  decision: ReadLine;
  said?: ReadLine;
}

/** Holds each signed decision until its worker says by which key it counted the vote, or until the turn is over. */
export interface WaitingDecisions {
  /** Takes a line, and returns the decisions that can now be judged. */
  push(line: ReadLine): Explained[];
  /** The decisions that still wait. */
  rest(): Explained[];
}

const about = z.object({
  turn: z.string(),
  call: z.string().default(''),
  decisionId: z.string().optional(),
});

/** Starts without any decision. Decisions without a signature can be judged at once. */
export function createWaiting(): WaitingDecisions {
  const turns = new Map<string, Map<string, ReadLine>>();
  const leave = (turn: string): Explained[] => {
    const left = [...(turns.get(turn)?.values() ?? [])];
    turns.delete(turn);
    return left.map((decision) => ({ decision }));
  };
  return {
    push: (line) => {
      const isVote = isDecision(line);
      if (isVote && !line.sealed.has('signature')) return [{ decision: line }];
      if (!isVote && line.type !== 'roster' && line.type !== 'turn_ended') return [];
      const { data } = about.safeParse(frameOf(line.body));
      if (data === undefined) return isVote ? [{ decision: line }] : [];
      const { turn, call, decisionId } = data;
      if (line.type === 'turn_ended') return leave(turn);
      if (decisionId === undefined) return isVote ? [{ decision: line }] : [];
      const key = JSON.stringify([call, decisionId]);
      const ofTurn = turns.get(turn) ?? new Map<string, ReadLine>();
      const before = ofTurn.get(key);
      if (isVote) {
        turns.set(turn, ofTurn.set(key, line));
        return before === undefined ? [] : [{ decision: before }];
      }
      ofTurn.delete(key);
      return before === undefined ? [] : [{ decision: before, said: line }];
    },
    rest: () => [...turns.keys()].flatMap(leave),
  };
}
