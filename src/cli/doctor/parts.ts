import { findProgram } from '../../tools/sandbox/bubblewrap';
import type { Finding } from './machine';

/** What only some things need: its name, programs of which one is enough, what needs it, and packages of Debian and Ubuntu. */
type Part = readonly [name: string, programs: readonly string[], need: string, packages: string];

const PARTS: readonly Part[] = [
  ['ssh-keygen', ['ssh-keygen'], 'signing decisions and grants (`--sign`)', 'openssh-client'],
  ['SBCL', ['sbcl'], 'the Lisp pack', 'sbcl cl-swank'],
  ['Go', ['go'], "building Temporal's server where it cannot be downloaded", 'golang'],
];

/** For the tests of this repository. */
const TEST_PARTS: readonly Part[] = [
  ['Chromium', ['chromium-headless-shell', 'chromium'], 'tests of the web inbox', 'chromium'],
  ['PostgreSQL', ['initdb', 'pg_ctlcluster'], 'tests of a cluster', 'postgresql'],
  ['promtool', ['promtool'], 'tests of the alert rules', 'prometheus'],
];

/** Which programs of the system are here, and what the others would be for. A missing program is not a failure. */
export function checkParts(isClone: boolean, path?: string): Finding[] {
  return [...PARTS, ...(isClone ? TEST_PARTS : [])].map(([name, programs, need, packages]) => {
    const [file] = programs.flatMap((program) => findProgram(program, path) ?? []);
    if (file !== undefined) return { name, state: 'ok', detail: `${file}, for ${need}` };
    const todo = `Only if you want that (Debian, Ubuntu): apt-get install ${packages}`;
    return { name, state: 'skipped', detail: `not here; it is for ${need}`, todo };
  });
}
