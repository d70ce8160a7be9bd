import { homedir } from 'node:os';
import { CountersignError } from '../../contract/errors';
import { isToolError } from '../../tools/errors';
import { sandbox, type Sandbox } from '../../tools/sandbox';
import { LIMIT_NAMES } from '../../tools/sandbox/limits';
import { isProcessor, systemCallNumber } from '../../tools/sandbox/seccomp';
import type { Finding } from './machine';
import { MIB } from '../../contract/limits';

const NAME = 'sandbox';

const SMALL = { cpu: '7s', memory: 16 * MIB, processes: 12, openFiles: 64, fileSize: 2 * MIB, tmp: 4 * MIB };

/**
 * Tries everything that a sandbox forbids and every limit that it sets, and names the attempts that succeeded. The
 * limits of time and open files are only read: reaching them would take longer than `doctor` may take. Keys are tried
 * where there is Perl, because a shell has no program that asks for them.
 */
const ATTEMPTS = `
exec 2>/dev/null
ls "$1" >/dev/null && echo home
[ -e /run ] && echo /run
[ -e /var ] && echo /var
tail -n +3 /proc/net/dev | grep -qv ' *lo:' && echo network
[ -w / ] && echo /
[ -w /usr ] && echo /usr
[ "$(ulimit -t)" = 7 ] || echo cpu
[ "$(ulimit -n)" = 64 ] || echo openFiles
(head -c 40000000 /dev/zero | tail -c 40000000 | wc -c) | grep -q 40000000 && echo memory
(dd if=/dev/zero of=/tmp/a bs=1M count=3) && echo fileSize
rm -f /tmp/a
(for n in 1 2 3 4 5 6; do dd if=/dev/zero of=/tmp/$n bs=1M count=1 || exit 1; done) && echo tmp
(n=0; while [ $n -lt 16 ]; do sleep 9 & n=$((n + 1)); done) && echo processes
if [ -e /proc/self/status ]; then
  grep -q '^Seccomp:.*2' /proc/self/status || echo 'system calls'
  (echo >/tmp/own && chmod u+s /tmp/own) && echo 'set-user-id files'
  perl -e 'exit(syscall($ARGV[0] + 0, 0, -3, 0) < 0)' "$2" && echo keyring
fi
echo done
`;

/** The number of the system call that reads keys, if this processor has a sandbox. */
const KEYCTL = isProcessor(process.arch) ? systemCallNumber(process.arch, 'keyctl') : undefined;

/** Whether programs can run separately from this machine. The check tries it. */
export async function checkSandbox(
  box: Sandbox = sandbox({ limits: SMALL, allowUnlimited: [...LIMIT_NAMES] }),
): Promise<Finding> {
  try {
    const said = await box.describe();
    const { output } = await box.run({ argv: ['sh', '-c', ATTEMPTS, 'sh', homedir(), `${KEYCTL}`] });
    return judge(output.trim().split('\n'), said);
  } catch (error) {
    if (!(error instanceof CountersignError) && !isToolError(error)) throw error;
    const hint = error instanceof CountersignError ? error.hint : undefined;
    const todo = hint ?? 'Programs in a container need the right to make namespaces. See docs/sandbox.md.';
    return {
      name: NAME,
      state: 'warning',
      detail: `none for the programs that agents start: ${error.message}`,
      todo,
    };
  }
}

function judge(lines: readonly string[], said: string): Finding {
  const [, unlimited = ''] = /^not limited here: (.*)$/m.exec(said) ?? [];
  const known = unlimited.split(', ').filter(Boolean);
  const open = lines.slice(0, -1).filter((name) => !known.includes(name));
  if (lines.at(-1) !== 'done' || open.length > 0) {
    const detail =
      open.length > 0
        ? `it starts, and leaves open: ${open.join(', ')}`
        : `it starts, and says: ${lines.join(' ')}`;
    return { name: NAME, state: 'bad', detail, todo: 'Do not rely on it. See docs/sandbox.md.' };
  }
  const held = LIMIT_NAMES.filter((name) => !known.includes(name));
  const how =
    process.platform === 'linux'
      ? ' (by rlimit: processor time, memory and open files count for each process, not for all together); the filter of system calls holds'
      : '';
  const detail = `starts; home, network and system are closed; limits that hold: ${held.join(', ') || 'none'}${how}`;
  if (known.length === 0) return { name: NAME, state: 'ok', detail };
  const todo = `A sandbox without \`allowUnlimited\` for them is refused here: ${known.join(', ')}`;
  return { name: NAME, state: 'warning', detail: `${detail}; without a limit: ${known.join(', ')}`, todo };
}
