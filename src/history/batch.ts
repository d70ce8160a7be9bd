import { countMarks, deceivingIn } from '../contract/text/unsafe-text';
import type { ChangedTool } from '../contract/worker-tools';
import type { RequestOpened } from './events';
import { changedText } from './labels';

/**
 * Why a request is not approved together with others, at a terminal or on the page. Undefined if the request may be
 * approved so. Decisions that a terminal has to sign, and requests that it cannot show whole: see `whySigned` and `whyCut`
 * in cli/batch.ts. The page demands that everything was seen.
 *
 * `changed` says what became of the tool of the request. Its call would be refused after the approval.
 */
export function whyNotInBatch(request: RequestOpened, changed?: ChangedTool['now']): string | undefined {
  const never = whyNoBatch(request);
  if (never !== undefined) return never;
  if (changed !== undefined) return `its tool ${changedText(changed)}`;
  const hunks = request.preview?.plan?.hunks.length ?? 0;
  if (hunks > 1) return `it has ${hunks} hunks to choose from`;
  if (countMarks(deceivingIn(request)) > 0) return 'it holds characters that deceive the eye';
  return undefined;
}

/**
 * Why a request is not even denied together with others, at a terminal or on the page. Undefined if the request may be
 * denied so: a denial runs nothing.
 */
export function whyNoBatch({ noBatch }: RequestOpened): string | undefined {
  return noBatch === true ? 'its tool wants each one decided on its own' : undefined;
}
