import { readdirSync, readFileSync } from 'node:fs';

/** Ticks of the clock by which the kernel counts, a second. */
const TICKS = 100;

/** Milliseconds of processor time of a process and of all below it. */
export function cpuOf(pid: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(statOf);
  const below = (id: number): number =>
    all.filter(({ parent }) => parent === id).reduce((sum, child) => sum + child.ticks + below(child.pid), 0);
  const own = all.find((one) => one.pid === pid)?.ticks ?? 0;
  return ((own + below(pid)) * 1000) / TICKS;
}

function statOf(name: string): { pid: number; parent: number; ticks: number }[] {
  try {
    const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [, parent = '0', , , , , , , , , , user = '0', system = '0'] = fields;
    return [{ pid: Number(name), parent: Number(parent), ticks: Number(user) + Number(system) }];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

/** Megabytes that a process has of the machine; 0 where it has ended. */
export function rssOf(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1000;
  } catch {
    return 0;
  }
}
