import { findProgram } from '../../tools/sandbox/bubblewrap';
import type { Finding } from './machine';

/** What only some things need: its program, what needs it, packages of Debian and Ubuntu, and its name if that is another. */
type Part = readonly [program: string, need: string, packages: string, name?: string];

const PARTS: readonly Part[] = [
  ['ssh-keygen', 'signing decisions and grants (`--sign`)', 'openssh-client'],
  ['sbcl', 'the Lisp pack', 'sbcl cl-swank', 'SBCL'],
  ['go', "building Temporal's server where it cannot be downloaded", 'golang', 'Go'],
];

/** Which programs of the system are here, and what the others would be for. A missing program is not a failure. */
export function checkParts(path?: string): Finding[] {
  return PARTS.map(([program, need, packages, name = program]) => {
    const file = findProgram(program, path);
    if (file !== undefined) return { name, state: 'ok', detail: `${file}, for ${need}` };
    const todo = `Only if you want that (Debian, Ubuntu): apt-get install ${packages}`;
    return { name, state: 'skipped', detail: `not here; it is for ${need}`, todo };
  });
}
