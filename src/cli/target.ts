import type { CallView, TurnView } from '../history/view';
import { CountersignError, usageError } from '../contract/errors';

/** The turn that a person named, or one of its calls. Each id may be a prefix. */
interface Target {
  turn: string;
  call?: string;
}

/** @throws CountersignError `usage` if no call was named. */
export function namedCall(target: string | undefined): string {
  if (target !== undefined) return target;
  const hint = 'Name one call as <turn>/<call>, or choose many with --all; `countersign inbox` lists them.';
  throw usageError(`missing required argument 'turn/call'`, hint);
}

/** Reads `<turn>` or `<turn>/<call>`. */
export function parseTarget(text: string): Target {
  const [turn = '', call, ...rest] = text.split('/');
  if (turn === '' || call === '' || rest.length > 0) {
    const hint = 'Write <turn> or <turn>/<call>, such as turn-01j9/1.2; `countersign inbox` lists them.';
    throw usageError(`'${text}' names no turn and no call`, hint);
  }
  return { turn, call };
}

/**
 * The call that a person named by its id or a unique prefix. Without a name, an error lists the open calls, because we
 * never guess a call.
 */
export function findCall(view: TurnView, named: string | undefined): CallView {
  if (named === undefined) throw noCallNamed(view);
  const exact = view.calls.find(({ callId }) => callId === named);
  if (exact) return exact;
  const [first, ...others] = view.calls.filter(({ callId }) => callId.startsWith(named));
  if (first === undefined) throw noSuchCall(view, named);
  if (others.length > 0) throw ambiguous(view, named, [first, ...others]);
  return first;
}

/** The calls of a turn that wait for a person, as `<turn>/<call>`. */
export function waitingCallIds(view: TurnView): string[] {
  return [...view.requests, ...view.questions, ...view.inDoubt].map(({ callId }) => `${view.turn}/${callId}`);
}

function noCallNamed(view: TurnView): CountersignError {
  const open = waitingCallIds(view);
  return new CountersignError('usage', `${view.turn} is a turn; name the call as well`, {
    hint: open.length === 0 ? 'No call of it waits for a person.' : `Open: ${open.join(', ')}`,
    data: { open },
  });
}

function noSuchCall(view: TurnView, named: string): CountersignError {
  const open = waitingCallIds(view);
  const all = view.calls.map(({ callId }) => callId);
  return new CountersignError('not_found', `${view.turn} has no call ${named}`, {
    hint: open.length > 0 ? `Open: ${open.join(', ')}` : `Its calls: ${all.join(', ') || 'none'}`,
    data: { open },
  });
}

function ambiguous(view: TurnView, named: string, found: readonly CallView[]): CountersignError {
  const ids = found.map(({ callId }) => `${view.turn}/${callId}`);
  return new CountersignError('usage', `'${named}' is the start of ${ids.length} calls`, {
    hint: `Name one: ${ids.join(', ')}`,
    data: { ids },
  });
}
