import type { ResetCall, ResetPlan } from '../../history/reset';
import type { Screen } from './screen';
import { tableLines, type Cell } from './table';
import { visible } from './visible';

/** What a reset would do, call by call. */
export function resetLines({ turn, before, calls }: ResetPlan, { width, style }: Screen): string[] {
  const table = {
    head: ['CALL', 'TOOL', 'AFTERWARDS'],
    rows: calls.map((call) => row(call, style)),
    flex: 2,
  };
  return [
    style.strong(`${visible(turn)} goes back to before ${visible(before)}`),
    ...tableLines(table, { width, quiet: style.quiet }),
  ];
}

function row(call: ResetCall, style: Screen['style']): Cell[] {
  const needsLook =
    call.fate === 'in_doubt' || (call.fate === 'asked_again' && isSpent(call)) || call.fate === 'forgotten';
  const cell = { text: told(call) };
  return [
    { text: call.callId },
    { text: visible(call.tool) },
    needsLook ? { ...cell, paint: style.warn } : cell,
  ];
}

function told(call: ResetCall): string {
  switch (call.fate) {
    case 'asked_again':
      return isSpent(call)
        ? 'waits for a decision; it ran already, so then in doubt'
        : 'waits for a decision';
    case 'in_doubt':
      return 'in doubt: it ran already and is not run again';
    case 'runs_again':
      return call.effect === 'pure' ? 'runs again' : 'runs again, with the same key';
    case 'starts':
      return 'starts';
    case 'forgotten':
      return call.effect === 'pure' ? 'forgotten' : 'forgotten; what it did stays done';
  }
}

function isSpent({ ran, effect }: ResetCall): boolean {
  return ran && effect === 'unsafe';
}
