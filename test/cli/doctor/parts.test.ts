import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkParts } from '../../../src/cli/commands/doctor';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();

it('says what each program is for, where it is, and how to install it, and calls nothing a failure', () => {
  const sbcl = join(scratch(), 'sbcl');
  writeFileSync(sbcl, '', { mode: 0o755 });
  expect(checkParts(scratch())).toEqual([
    {
      name: 'ssh-keygen',
      state: 'skipped',
      detail: 'not here; it is for signing decisions and grants (`--sign`)',
      todo: 'Only if you want that (Debian, Ubuntu): apt-get install openssh-client',
    },
    { name: 'SBCL', state: 'ok', detail: `${sbcl}, for the Lisp pack` },
    expect.objectContaining({ name: 'Go', state: 'skipped' }),
  ]);
});
