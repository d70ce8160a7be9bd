import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A path inside the checkout. */
export const at = (...parts) => join(root, ...parts);

/** Progress goes to stderr: a command's own output stays clean. */
export const say = (line) => void process.stderr.write(`countersign: ${line}\n`);

/** Ends a program with the code that its work resolves with, or with 1, what went wrong, and a last line of its own. */
export const exitWith = async (work, last = '') => {
  try {
    process.exitCode = await work;
  } catch (error) {
    say(error.message);
    process.stdout.write(last);
    process.exitCode = 1;
  }
};
