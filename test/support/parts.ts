import { type Part, PARTS } from '../../scripts/parts.cjs';
import { isThorough } from './thorough';

/** What runs every test has to have every part. */
const isLeftOut = (part: Part): boolean => !isThorough && !PARTS[part].isHere(process.env);

/** Tests that need a part of the system; where it is missing they are skipped, and the end of the run says so. */
export const describeWith = (part: Part, title: string, tests: () => void): void => {
  if (isLeftOut(part)) describe.skip(title, tests);
  else describe(title, tests);
};

/** Says that every test of the file needs a part. */
export const needs = (part: Part): void => {
  if (isLeftOut(part)) globalThis.countersignLeavesOut = true;
};

declare global {
  /** Read by the environment of the tests, before the first of a file runs. */
  var countersignLeavesOut: boolean | undefined;
}
