import type { RequestOpened } from '../../history/events';
import { hiddenIn } from '../print/request';
import { confirmInFull } from '../terminal/ask';
import type { Terminal } from '../terminal/terminal';

/** Whether a person approves a request although it holds what deceives the eye; true without a question where it does not. */
export async function confirmSight(request: RequestOpened, terminal: Terminal): Promise<boolean> {
  const hidden = hiddenIn(request);
  if (hidden === 0) return true;
  const what = hidden === 1 ? 'a character that deceives' : `${hidden} characters that deceive`;
  return confirmInFull(terminal, `It holds ${what} the eye; each stands there as a mark.`);
}
