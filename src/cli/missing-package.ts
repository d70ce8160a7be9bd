import { types } from 'node:util';
import { CountersignError } from '../contract/errors';

/**
 * What is thrown where a package of ours is missing, as an error that says what to do; everything else as it is.
 * Commands load what they need when they need it, so one that was left out shows late.
 */
export function explainMissing(error: unknown): unknown {
  const name = missingPackage(error);
  if (name === undefined) return error;
  return new CountersignError('not_installed', `${name} is not installed`, {
    hint: 'Run `npm install` again, without leaving anything out.',
    data: { name },
    cause: error,
  });
}

/** The package's name. A path is a file of our own, and no package. */
function missingPackage(error: unknown): string | undefined {
  if (!types.isNativeError(error) || error instanceof CountersignError) return undefined;
  const isMissing = 'code' in error && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
  return isMissing ? /^Cannot find (?:module|package) '([^'./][^']*)'/.exec(error.message)?.[1] : undefined;
}
