import { assuranceWanted } from '../contract/authority/authority';
import { assuranceText } from '../contract/authority/votes';
import { countMarks, deceivingIn } from '../contract/text/unsafe-text';
import type { RequestOpened } from './events';

/** Why a request is not approved together with others. Undefined where it may be. */
export function whyNotInBatch(request: RequestOpened): string | undefined {
  const never = whyNoBatch(request);
  if (never !== undefined) return never;
  const hunks = request.preview?.plan?.hunks.length ?? 0;
  if (hunks > 1) return `it has ${hunks} hunks to choose from`;
  if (countMarks(deceivingIn(request)) > 0) return 'it holds characters that deceive the eye';
  return undefined;
}

/** Why the page neither approves nor denies a request together with others. Undefined where it may deny it. */
export function whyNoBatch({ noBatch }: Pick<RequestOpened, 'noBatch'>): string | undefined {
  return noBatch === true ? 'its tool wants each one decided on its own' : undefined;
}

/**
 * Why a terminal does not approve a request together with others: it signs one decision at a time. Undefined where it
 * has to sign none.
 */
export function whySigned({ authority }: Pick<RequestOpened, 'authority'>): string | undefined {
  const wanted = assuranceWanted(authority, 'approved');
  return wanted && `the rule '${authority?.rule.name}' wants each one ${assuranceText(wanted)}`;
}
