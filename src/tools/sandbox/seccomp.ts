/** Numbers of system calls on the processors that we know. A call that a processor lacks has no number. */
const NUMBERS = {
  x64: {
    open: 2,
    socket: 41,
    socketpair: 53,
    creat: 85,
    chmod: 90,
    fchmod: 91,
    mknod: 133,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    openat: 257,
    mknodat: 259,
    fchmodat: 268,
    perf_event_open: 298,
    bpf: 321,
    userfaultfd: 323,
    io_uring_setup: 425,
    io_uring_enter: 426,
    io_uring_register: 427,
    openat2: 437,
    fchmodat2: 452,
  },
  arm64: {
    mknodat: 33,
    fchmod: 52,
    fchmodat: 53,
    openat: 56,
    socket: 198,
    socketpair: 199,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    perf_event_open: 241,
    bpf: 280,
    userfaultfd: 282,
    io_uring_setup: 425,
    io_uring_enter: 426,
    io_uring_register: 427,
    openat2: 437,
    fchmodat2: 452,
  },
} as const satisfies Record<string, Readonly<Record<string, number>>>;

type Processor = keyof typeof NUMBERS;

/** The name by which the kernel's audit knows the system calls of a processor (linux/audit.h). */
const AUDIT: Readonly<Record<Processor, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** The addresses of the hypervisor, which no network namespace holds. */
const AF_VSOCK = 40;
/** Set-user-id and set-group-id. Other users of the machine would run such a file as the worker's user. */
const SET_ID = 0o6000;
/** `O_CREAT` and `__O_TMPFILE`: without one of them the mode is not read, and may be anything. */
const MAKES_FILE = 0o100 | 0o20000000;

/** A condition on an argument of a system call, by its lower 32 bits: it equals a number, or has one of some bits. */
type Condition = readonly [argument: number, is: 'equal' | 'any of', number: number];

/** System calls that fail with an error if all conditions hold. */
interface Rule {
  calls: readonly string[];
  when: readonly Condition[];
  error: number;
}

const setId = (argument: number): Condition => [argument, 'any of', SET_ID];
const makesFile = (argument: number): Condition => [argument, 'any of', MAKES_FILE];

const RULES: readonly Rule[] = [
  // The keys of the worker's session: Kerberos tickets, keys of file systems.
  { calls: ['add_key', 'request_key', 'keyctl'], when: [], error: EPERM },
  // Large parts of the kernel that programs do without, and in which most ways out of a sandbox were found.
  { calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'], when: [], error: EPERM },
  { calls: ['userfaultfd', 'bpf', 'perf_event_open'], when: [], error: EPERM },
  { calls: ['socket', 'socketpair'], when: [[0, 'equal', AF_VSOCK]], error: EAFNOSUPPORT },
  { calls: ['creat', 'chmod', 'fchmod', 'mknod'], when: [setId(1)], error: EPERM },
  { calls: ['fchmodat', 'fchmodat2', 'mknodat'], when: [setId(2)], error: EPERM },
  { calls: ['open'], when: [makesFile(1), setId(2)], error: EPERM },
  { calls: ['openat'], when: [makesFile(2), setId(3)], error: EPERM },
  // Its mode is in memory, which a filter cannot read. Programs then take `openat`.
  { calls: ['openat2'], when: [], error: ENOSYS },
];

/** Operations of classic BPF (linux/bpf_common.h): each takes a number, and a jump takes two distances. */
const LOAD = 0x20;
const IS_EQUAL = 0x15;
const IS_AT_LEAST = 0x35;
const HAS_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const END_PROCESS = 0x80000000;
const fail = (error: number): Operation => [RETURN, 0x00050000 | error];

type Operation = readonly [code: number, number: number, ifTrue?: number, ifFalse?: number];

/** The places of `struct seccomp_data`. Both processors store the lower half of a number first. */
const CALL = 0;
const PROCESSOR = 4;

/** The numbers of x32, which is x64 with short pointers, begin here. */
const X32 = 0x40000000;

/** The processors for which there is a filter. */
export function isProcessor(name: string): name is Processor {
  return Object.hasOwn(NUMBERS, name);
}

/**
 * The filter of system calls for programs in a sandbox, in the form that bubblewrap takes: an array of `sock_filter`. A
 * process that uses the system calls of another processor is ended.
 */
export function seccompFilter(processor: Processor): Buffer {
  const operations: Operation[] = [
    [LOAD, PROCESSOR],
    [IS_EQUAL, AUDIT[processor], 1, 0],
    [RETURN, END_PROCESS],
    ...(processor === 'x64' ? refuseX32 : []),
    ...RULES.flatMap((rule) =>
      rule.calls.flatMap((call) => operationsOf(rule, systemCallNumber(processor, call))),
    ),
    [RETURN, ALLOW],
  ];
  return Buffer.concat(operations.map(encode));
}

const refuseX32: readonly Operation[] = [[LOAD, CALL], [IS_AT_LEAST, X32, 0, 1], fail(ENOSYS)];

/** The number of a system call. Undefined if the processor lacks it. */
export function systemCallNumber(processor: Processor, call: string): number | undefined {
  const numbers: Readonly<Record<string, number>> = NUMBERS[processor];
  return numbers[call];
}

/** A call whose conditions do not hold goes on behind the last of these operations. */
function operationsOf({ when, error }: Rule, number: number | undefined): Operation[] {
  if (number === undefined) return [];
  const conditions = when.map(([argument, is, value]): [place: number, code: number, value: number] => [
    16 + 8 * argument,
    is === 'equal' ? IS_EQUAL : HAS_BIT,
    value,
  ]);
  const all = [[CALL, IS_EQUAL, number] as const, ...conditions];
  return [
    ...all.flatMap(([place, code, value], index): Operation[] => [
      [LOAD, place],
      [code, value, 0, 2 * (all.length - index) - 1],
    ]),
    fail(error),
  ];
}

function encode([code, number, ifTrue = 0, ifFalse = 0]: Operation): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(number, 4);
  return bytes;
}
