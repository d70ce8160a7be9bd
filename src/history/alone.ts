import { countMarks, deceivingIn } from '../contract/text/unsafe-text';
import type { RequestOpened } from './events';

/** Why a request must be looked at on its own before it is approved. Undefined where it need not. */
export function whyAlone(request: RequestOpened): string | undefined {
  const hunks = request.preview?.plan?.hunks.length ?? 0;
  if (request.noBatch === true) return 'its tool wants each one decided on its own';
  if (hunks > 1) return `it has ${hunks} hunks to choose from`;
  if (countMarks(deceivingIn(request)) > 0) return 'it holds characters that deceive the eye';
  return undefined;
}
