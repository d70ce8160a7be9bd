import { countMarks, deceivingIn } from '../contract/text/unsafe-text';
import type { RequestOpened } from './events';

/**
 * Why a request is not approved together with others, at a terminal or on the page. Undefined if the request may be
 * approved so. Decisions that a terminal has to sign: see `whySigned` in cli/batch.ts.
 */
export function whyNotInBatch(request: RequestOpened): string | undefined {
  const never = whyNoBatch(request);
  if (never !== undefined) return never;
  const hunks = request.preview?.plan?.hunks.length ?? 0;
  if (hunks > 1) return `it has ${hunks} hunks to choose from`;
  if (countMarks(deceivingIn(request)) > 0) return 'it holds characters that deceive the eye';
  return undefined;
}

/**
 * Why a request is not even denied together with others, at a terminal or on the page. Undefined if the request may be
 * denied so: a denial runs nothing.
 */
export function whyNoBatch({ noBatch }: Pick<RequestOpened, 'noBatch'>): string | undefined {
  return noBatch === true ? 'its tool wants each one decided on its own' : undefined;
}
