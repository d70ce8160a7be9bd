import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A path inside the checkout. */
export const at = (...parts) => join(root, ...parts);

/** Progress goes to stderr: a command's own output stays clean. */
export const say = (line) => void process.stderr.write(`countersign: ${line}\n`);
