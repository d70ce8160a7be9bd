import type { TurnView } from '../../history/view';
import type { Style } from './style';
import type { Cell } from './table';

/** The state of a turn in words, in the colour of what it asks of a person. */
export function stateCell(state: TurnView['status'], style: Style): Cell {
  const text = state.replaceAll('_', ' ');
  switch (state) {
    case 'answered':
      return { text, paint: style.good };
    case 'waiting':
      return { text: 'waits for a person', paint: style.warn };
    case 'in_doubt':
    case 'step_limit':
      return { text, paint: style.warn };
    case 'running':
      return { text };
    default:
      return { text, paint: style.bad };
  }
}
