import { z } from 'zod';
import { duration } from '../option-values';
import { MIB } from '../../contract/limits';

/** The names of a sandbox's limits. */
export const LIMIT_NAMES = ['cpu', 'memory', 'processes', 'openFiles', 'fileSize', 'tmp'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

const bytes = () => z.int().min(MIB);

export const limitsSchema = z.strictObject({
  /** Processor time of each process. @default 60 s */
  cpu: duration(1000).default(60_000),
  /** Private memory of each process. @default 1 GiB */
  memory: bytes().default(1024 * MIB),
  /** Processes and threads of one sandbox together. @default 128 */
  processes: z.int().min(1).default(128),
  /** Open files of each process. @default 1024 */
  openFiles: z.int().min(16).default(1024),
  /** The largest file. @default 256 MiB */
  fileSize: bytes().default(256 * MIB),
  /** All files in `/tmp`, which is memory. @default 256 MiB */
  tmp: bytes().default(256 * MIB),
});

/** Limits with every default filled in: milliseconds and bytes. */
export type Limits = z.output<typeof limitsSchema>;

/** The limits that this machine enforces. */
export type Enforced = ReadonlySet<LimitName>;

/**
 * The words that set resource limits, to put before a command line. Child processes inherit the limits and cannot raise
 * them.
 */
export function underLimits(limits: Limits, enforced: Enforced, prlimit: string): string[] {
  const words = {
    cpu: `--cpu=${Math.ceil(limits.cpu / 1000)}`,
    // Limits writable private memory. A limit of the address space would count memory that V8 only reserves.
    memory: `--data=${limits.memory}`,
    processes: `--nproc=${limits.processes}`,
    openFiles: `--nofile=${limits.openFiles}`,
    fileSize: `--fsize=${limits.fileSize}`,
  };
  const held = Object.entries(words).flatMap(([name, word]) => (has(enforced, name) ? [word] : []));
  return [prlimit, '--core=0', ...held, '--'];
}

/** The same limits by a shell, for systems without `prlimit`. The words are its arguments, so none is expanded. */
export function underShellLimits(limits: Limits, enforced: Enforced): string[] {
  const letters = {
    cpu: `-t ${Math.ceil(limits.cpu / 1000)}`,
    processes: `-u ${limits.processes}`,
    openFiles: `-n ${limits.openFiles}`,
    // In blocks of 512 bytes.
    fileSize: `-f ${Math.floor(limits.fileSize / 512)}`,
  };
  const held = Object.entries(letters).flatMap(([name, word]) =>
    has(enforced, name) ? [`ulimit ${word}`] : [],
  );
  return ['/bin/sh', '-c', [...held, 'ulimit -c 0', 'exec "$@"'].join(' && '), 'sh'];
}

const has = (enforced: Enforced, name: string) =>
  LIMIT_NAMES.some((known) => known === name && enforced.has(known));

/** The limits in words, and the names of limits that do not apply here, for the person who approves. */
export function describeLimits(limits: Limits, enforced: Enforced): string {
  const words: Record<LimitName, string> = {
    cpu: `${limits.cpu / 1000} s of processor time a process`,
    memory: `${sizeOf(limits.memory)} of private memory a process`,
    processes: `${limits.processes} processes and threads`,
    openFiles: `${limits.openFiles} open files a process`,
    fileSize: `${sizeOf(limits.fileSize)} a file`,
    tmp: `${sizeOf(limits.tmp)} in /tmp`,
  };
  const held = LIMIT_NAMES.filter((name) => enforced.has(name)).map((name) => words[name]);
  const open = LIMIT_NAMES.filter((name) => !enforced.has(name));
  const rest = open.length === 0 ? '' : `\nnot limited here: ${open.join(', ')}`;
  return `limits: ${held.length === 0 ? 'none' : held.join(', ')}${rest}`;
}

function sizeOf(size: number) {
  const [unit, name] = size % (1024 * MIB) === 0 ? [1024 * MIB, 'GiB'] : [MIB, 'MiB'];
  return `${Number((size / unit).toFixed(1))} ${name}`;
}
