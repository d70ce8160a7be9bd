import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFormHistory } from '../../../src/tools/lisp/history';
import { scratchDirectory } from '../../support/scratch';

const scratch = scratchDirectory();
const folder = (): string => join(scratch(), 'lisp', 'image');
const form = (text: string) => ({ mode: 'eval' as const, form: text, package: 'CL' });

it('has nothing to tell at first', async () => {
  const history = createFormHistory(folder());
  expect(await history.describe(10)).toBe('No REPL history available.');
  expect(await history.describeError()).toBe('No recent errors recorded.');
});

it('tells forms with how they ended, and what happened to the image between them, to later workers too', async () => {
  const history = createFormHistory(folder());
  await (
    await history.begin(form('(one)'))
  )('1');
  await history.note('a new image was started');
  await history.begin({ ...form('(two)'), mode: 'compile' });
  const text = await createFormHistory(folder()).describe(10);
  expect(text.split('\n').map((line) => line.replace(/\d{4}-\S+Z/, 'TIME'))).toEqual([
    'Recent REPL History (2 of 2 entries):',
    '',
    '[1] Form: (one)',
    '    Result: 1',
    '-- TIME: a new image was started',
    '[2] Compiled: (two)',
    '    Result: unknown: it was sent, and no answer came (it may run still)',
  ]);
  expect(await history.describe(1)).not.toContain('(one)');
});

it('is for its owner only', async () => {
  const history = createFormHistory(folder());
  await history.begin(form('(one)'));
  const error = {
    mode: 'eval' as const,
    form: '(x)',
    condition: 'c',
    type: 'T',
    restarts: [],
    backtrace: [],
  };
  await history.keepError(error);
  const modes = ['history.jsonl', 'last-error.json', '.'].map(
    (name) => statSync(join(folder(), name)).mode & 0o777,
  );
  expect(modes).toEqual([0o600, 0o600, 0o700]);
});

it('loses no form of many at once', async () => {
  const history = createFormHistory(folder());
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => (await history.begin(form(`(f ${n})`)))(`${n}`)),
  );
  const text = await history.describe(50);
  for (let n = 0; n < 20; n++) expect(text).toContain(`(f ${n})\n    Result: ${n}`);
});

it('passes over lines that a crash cut short, or that somebody else wrote', async () => {
  const history = createFormHistory(folder());
  await (
    await history.begin(form('(one)'))
  )('1');
  appendFileSync(join(folder(), 'history.jsonl'), '{"kind":"form","id":\n\n[]\n{"kind":"other"}\n');
  await (
    await history.begin(form('(two)'))
  )('2');
  expect(await history.describe(10)).toContain('Recent REPL History (2 of 2 entries):');
  writeFileSync(join(folder(), 'last-error.json'), '{');
  expect(await history.describeError()).toBe('No recent errors recorded.');
});

it('keeps long forms and results short, and the file too', async () => {
  const history = createFormHistory(folder());
  await (
    await history.begin(form('x'.repeat(100_000)))
  )('y'.repeat(100_000));
  expect((await history.describe(1)).length).toBeLessThan(9000);
  const file = join(folder(), 'history.jsonl');
  appendFileSync(file, `${'z'.repeat(1024 * 1024)}\n`.repeat(2));
  appendFileSync(file, 'short\n'.repeat(300));
  await history.note('started');
  expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(200);
});

it('tells the last error with restarts and backtrace', async () => {
  const history = createFormHistory(folder());
  await history.keepError({
    mode: 'compile',
    form: '(a\n b)',
    condition: 'bad',
    type: 'SIMPLE-ERROR',
    restarts: ['ABORT: Stop.'],
    backtrace: ['0: (A)', '1: (B)'],
  });
  expect((await history.describeError()).replace(/\(at .*?\)/, '(at TIME)')).toBe(
    [
      'Last Error (at TIME):',
      '',
      'Condition:',
      '  bad',
      '  [of type SIMPLE-ERROR]',
      '',
      'Compiled form:',
      '  (a',
      '   b)',
      '',
      'Restarts:',
      '  ABORT: Stop.',
      '',
      'Backtrace:',
      '  0: (A)',
      '  1: (B)',
    ].join('\n'),
  );
});
