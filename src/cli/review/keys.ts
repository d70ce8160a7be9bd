import type { InboxItem } from '../../client';
import type { Hunk } from '../../contract/plan';
import type { Choice } from '../terminal/ask';

/** What a person can do with the item that is looked at. */
export type ReviewAct =
  | 'approve'
  | 'edit'
  | 'hunks'
  | 'deny'
  | 'happened'
  | 'did-not'
  | 'run-again'
  | 'next'
  | 'back'
  | 'show'
  | 'quit';

const MOVES: readonly Choice<ReviewAct>[] = [
  { means: 'next', keys: ['n', 'next', 's', 'skip'], does: 'go on; it stays undecided' },
  { means: 'back', keys: ['b', 'back'], does: 'go back to the one before' },
  { means: 'show', keys: ['v', 'view'], does: 'show it once more' },
  { means: 'quit', keys: ['q', 'quit'], does: 'leave; what is undecided stays' },
];

const REQUEST: readonly Choice<ReviewAct>[] = [
  { means: 'approve', keys: ['a', 'approve'], does: 'let it run as it is' },
  { means: 'edit', keys: ['e', 'edit'], does: 'change the arguments in your editor' },
  { means: 'deny', keys: ['d', 'deny'], does: 'keep it from running, with a reason' },
];

const HUNKS: readonly Choice<ReviewAct>[] = [
  { means: 'hunks', keys: ['p', 'patch', 'hunks'], does: 'be asked about its hunks one by one' },
];

const DOUBT: readonly Choice<ReviewAct>[] = [
  { means: 'happened', keys: ['h', 'happened'], does: 'it happened: the turn goes on with what it returned' },
  { means: 'did-not', keys: ['x', 'did-not'], does: 'it did not happen: the model is told so' },
  { means: 'run-again', keys: ['r', 'run-again'], does: 'start it once more: a new decision' },
];

/** The keys for one item. */
export function choicesFor(kind: InboxItem['kind'], hunks: readonly Hunk[]): readonly Choice<ReviewAct>[] {
  if (kind === 'in_doubt') return [...DOUBT, ...MOVES];
  return [...REQUEST, ...(hunks.length > 1 ? HUNKS : []), ...MOVES];
}
