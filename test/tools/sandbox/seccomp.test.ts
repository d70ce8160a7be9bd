import { isProcessor, systemCallNumber, seccompFilter } from '../../../src/tools/sandbox/seccomp';

const ALLOWED = 0x7fff0000;
const END = 0x80000000;
const failed = (error: number): number => 0x00050000 | error;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [failed(1), failed(38), failed(97)];

type Processor = Parameters<typeof seccompFilter>[0];

interface Call {
  audit: number;
  number: number;
  arguments?: readonly number[];
}

/** What the kernel does with a call: it runs the filter as classic BPF, over the call in the form of `seccomp_data`. */
const judge = (filter: Buffer, { audit, number, arguments: given = [] }: Call): number => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(audit, 4);
  given.forEach((one, at) => data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(one)), 16 + 8 * at));
  let value = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const [code, k] = [filter.readUInt16LE(at), filter.readUInt32LE(at + 4)];
    const jump = (isTrue: boolean): void => void (at += 8 * filter.readUInt8(at + (isTrue ? 2 : 3)));
    if (code === 0x20) value = data.readUInt32LE(k);
    else if (code === 0x15) jump(value === k);
    else if (code === 0x35) jump(value >= k);
    else if (code === 0x45) jump((value & k) !== 0);
    else if (code === 0x06) return k;
    else throw new Error(`an operation that the filter has no use for: ${code}`);
  }
  throw new Error('the filter has no end');
};

const AUDIT: Readonly<Record<Processor, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const X64_ONLY = ['open', 'creat', 'chmod', 'mknod'];

/** The numbers of some calls that every program uses: read, write, close, mmap, clone, execve, exit_group, ioctl. */
const USUAL: Readonly<Record<Processor, readonly number[]>> = {
  x64: [0, 1, 3, 9, 56, 59, 231, 16, 435],
  arm64: [63, 64, 57, 222, 220, 221, 94, 29, 435],
};

describe.each<Processor>(['x64', 'arm64'])('on %s', (processor) => {
  const filter = seccompFilter(processor);
  const ask = (number: number, ...given: number[]) =>
    judge(filter, { audit: AUDIT[processor], number, arguments: given });
  const askFor = (call: string, ...given: number[]): number | undefined => {
    const number = systemCallNumber(processor, call);
    return number === undefined ? undefined : ask(number, ...given);
  };

  it('what every program uses is allowed', () => {
    expect(USUAL[processor].map((number) => ask(number))).toEqual(USUAL[processor].map(() => ALLOWED));
  });

  it.each<[string, number[], number]>([
    ...['add_key', 'request_key', 'keyctl', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'].map(
      (call): [string, number[], number] => [call, [0], EPERM],
    ),
    ...['userfaultfd', 'bpf', 'perf_event_open'].map((call): [string, number[], number] => [
      call,
      [0],
      EPERM,
    ]),
    ['openat2', [-100, 1, 2, 24], ENOSYS],
    ['socket', [40, 1, 0], EAFNOSUPPORT],
    ['socket', [40 + 2 ** 32, 1, 0], EAFNOSUPPORT],
    ['socketpair', [40, 1, 0], EAFNOSUPPORT],
    ['socket', [1, 1, 0], ALLOWED],
    ['socket', [2, 1, 0], ALLOWED],
    ['socketpair', [1, 1, 0], ALLOWED],
    ['fchmod', [3, 0o4755], EPERM],
    ['fchmod', [3, 0o2755], EPERM],
    ['fchmod', [3, 0o1777], ALLOWED],
    ['fchmod', [0o6000, 0o755], ALLOWED],
    ['fchmodat', [-100, 1, 0o4755], EPERM],
    ['fchmodat', [-100, 0o6000, 0o644], ALLOWED],
    ['fchmodat2', [-100, 1, 0o2755, 0], EPERM],
    ['fchmodat2', [-100, 1, 0o755, 0], ALLOWED],
    ['mknodat', [-100, 1, 0o104755, 0], EPERM],
    ['mknodat', [-100, 1, 0o10644, 0], ALLOWED],
    ['openat', [-100, 1, 0o101, 0o4755], EPERM],
    ['openat', [-100, 1, 0o20200002, 0o4755], EPERM],
    ['openat', [-100, 1, 0o101, 0o755], ALLOWED],
    ['openat', [-100, 1, 0, 0o7777], ALLOWED],
    ['open', [1, 0o101, 0o2755], EPERM],
    ['open', [1, 0, 0o6755], ALLOWED],
    ['open', [1, 0o101, 0o644], ALLOWED],
    ['creat', [1, 0o4755], EPERM],
    ['creat', [1, 0o755], ALLOWED],
    ['chmod', [1, 0o6755], EPERM],
    ['chmod', [1, 0o755], ALLOWED],
    ['mknod', [1, 0o104755, 0], EPERM],
    ['mknod', [1, 0o10644, 0], ALLOWED],
  ])('%s with %j', (call, given, expected) => {
    const isThere = processor === 'x64' || !X64_ONLY.includes(call);
    expect(askFor(call, ...given)).toBe(isThere ? expected : undefined);
  });

  it('a process with the calls of another processor is ended', () => {
    const others = [0x40000003, 0x40000028, ...Object.values(AUDIT)].filter(
      (one) => one !== AUDIT[processor],
    );
    for (const audit of others) expect(judge(filter, { audit, number: 0 })).toBe(END);
  });

  it('jumps only forward, to an operation, and ends with an answer', () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length / 8).toBeLessThan(4096);
    expect(filter.readUInt16LE(filter.length - 8)).toBe(0x06);
  });
});

it('refuses the calls of x32, and of no number', () => {
  const filter = seccompFilter('x64');
  for (const number of [0x40000000, 0x40000000 + 250, -1])
    expect(judge(filter, { audit: AUDIT.x64, number })).toBe(ENOSYS);
});

it('has the numbers of the kernel', () => {
  const calls = ['keyctl', 'openat', 'fchmodat', 'io_uring_setup', 'bpf', 'socket', 'perf_event_open'];
  expect(calls.map((call) => systemCallNumber('x64', call))).toEqual([250, 257, 268, 425, 321, 41, 298]);
  expect(calls.map((call) => systemCallNumber('arm64', call))).toEqual([219, 56, 53, 425, 280, 198, 241]);
});

it.each(['ia32', 'arm', 'riscv64', 's390x', 'toString'])('knows no filter for %s', (name) => {
  expect(isProcessor(name)).toBe(false);
});
