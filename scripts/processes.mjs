/** Ends what a run of tests has started, whatever became of the processes between. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const GRACE_MS = 2_000;
const POLL_MS = 50;

/** Every process of this machine: its parent, and the session that it belongs to. */
const processes = () => (process.platform === 'linux' ? fromProc() : fromPs());

const fromProc = () =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The name of a program may hold spaces and brackets.
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), session: Number(session) }];
    } catch {
      return [];
    }
  });

const fromPs = () =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid, parent, session]) => ({ pid, parent, session }));

/** What a leader of a session has started, itself included: a process leaves the session, or loses its parent, seldom both. */
const startedBy = (leader, known) => {
  const found = new Set(known);
  const all = processes();
  for (const { pid, session } of all) if (pid === leader || session === leader) found.add(pid);
  for (let size = -1; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  const alive = new Set(all.map(({ pid }) => pid));
  return new Set([...found].filter((pid) => alive.has(pid) && pid !== process.pid));
};

const signal = (pid, name) => {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
};

/** Asks the leader of a session and all that it started to end, and kills what has not after two seconds. */
export const endSession = async (leader) => {
  let left = startedBy(leader, []);
  for (const pid of left) signal(pid, 'SIGTERM');
  for (const until = Date.now() + GRACE_MS; left.size > 0 && Date.now() < until;) {
    await delay(POLL_MS);
    left = startedBy(leader, left);
  }
  while (left.size > 0) {
    for (const pid of left) signal(pid, 'SIGKILL');
    await delay(POLL_MS);
    left = startedBy(leader, left);
  }
};
