import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, type RunningServer } from '../../src/engine/server-launch';
import { scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();

/** What Temporal 1.31 writes when an inner port is taken: it goes on with a nil listener, and panics later. */
const PANIC = [
  'time=2026-11-22T10:00:00.000 level=ERROR msg="Failed to start gRPC listener" error="listen tcp 127.0.0.1:43217: bind: address already in use"',
  'time=2026-11-22T10:00:00.100 level=WARN msg="something else"',
  'panic: runtime error: invalid memory address or nil pointer dereference',
  '[signal SIGSEGV: segmentation violation code=0x2 addr=0x18 pc=0x1010a1b2c]',
  '',
  'goroutine 412 [running]:',
  ...Array.from(
    { length: 20 },
    (_, at) => `google.golang.org/grpc.(*Server).Serve(0x140004${at}, {0x0, 0x0})`,
  ),
];

/** Launches a fake binary: each start counts itself, the first ones panic over a port, later ones die by `last`. */
const launchFake = (panics: number, last: string): Promise<RunningServer> => {
  const binary = writeScript(
    join(scratch(), 'temporal'),
    `echo x >>${count()}`,
    `if [ "$(wc -l <${count()})" -le ${panics} ]; then cat >&2 <<'LOG'`,
    ...PANIC,
    'LOG',
    'exit 2; fi',
    `echo "${last}" >&2; exit 7`,
  );
  return launch({ binary, headless: true, logFile: join(scratch(), 'server.log') });
};

const count = (): string => join(scratch(), 'count');
const starts = (): number => readFileSync(count(), 'utf8').trim().split('\n').length;

it('draws new ports for a server that panicked long after it lost one', async () => {
  await expect(launchFake(1, 'database is malformed')).rejects.toMatchObject({
    code: 'server_failed',
    message: expect.stringMatching(/ended at once with code 7\ndatabase is malformed$/),
  });
  expect(starts()).toBe(2);
});

it('draws five times at most, and names the lost port above the trace', async () => {
  await expect(launchFake(9, '')).rejects.toMatchObject({
    message: expect.stringMatching(/127\.0\.0\.1:43217: bind: address already in use"\nit ended at once/),
  });
  expect(starts()).toBe(5);
});

it('does not start again for another reason', async () => {
  await expect(launchFake(0, 'database is malformed')).rejects.toMatchObject({ code: 'server_failed' });
  expect(starts()).toBe(1);
});
