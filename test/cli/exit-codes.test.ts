import { CommanderError } from 'commander';
import { EXIT, exitCodeOf } from '../../src/cli/exit-codes';
import { errorLines } from '../../src/cli/report-error';
import { createStyle } from '../../src/cli/print/screen';
import { CountersignError, ERROR_CODES, type ErrorCode } from '../../src/contract/errors';

const CODES: Partial<Record<ErrorCode, number>> = {
  usage: 2,
  config_invalid: 2,
  not_found: 4,
  exists: 2,
  no_server: 5,
  server_failed: 5,
  refused: 3,
  full: 3,
  failed: 1,
  still_waiting: 6,
};

describe('exit codes', () => {
  it.each(Object.entries(CODES))('%s ends with %d', (code, exit) => {
    const known = ERROR_CODES.find((one) => one === code);
    expect(known).toBeDefined();
    expect(exitCodeOf(new CountersignError(known ?? 'usage', 'x'))).toBe(exit);
  });

  it.each(ERROR_CODES)('%s has one, and it is not that of success', (code) => {
    expect(Object.values(EXIT)).toContain(exitCodeOf(new CountersignError(code, 'x')));
    expect(exitCodeOf(new CountersignError(code, 'x'))).not.toBe(0);
  });

  it.each<[string, unknown, number]>([
    ['help that was asked for', new CommanderError(0, 'commander.helpDisplayed', ''), 0],
    ['an error of nobody', new Error('x'), 1],
    ['something that is no error', 'x', 1],
  ])('%s', (_name, error, exit) => {
    expect(exitCodeOf(error)).toBe(exit);
  });
});

describe('errors as a person reads them', () => {
  const tell = (error: unknown, debug = false): string[] =>
    errorLines(error, { style: createStyle(false), debug, typed: (text) => text });

  it.each<[string, unknown, string[]]>([
    [
      'message, hint, code',
      new CountersignError('usage', 'no', { hint: 'do this' }),
      ['no', 'Do this', '[usage]'],
    ],
    ['without a hint', new CountersignError('no_server', 'gone'), ['gone', '[no_server]']],
    [
      'a hint that begins with our name',
      new CountersignError('usage', 'a', { hint: 'countersign list' }),
      ['a', 'countersign list', '[usage]'],
    ],
    ['several lines', new CountersignError('usage', 'a\n  b'), ['a', '  b', '[usage]']],
    ['controls', new CountersignError('usage', 'a\x1b[2Jb'), ['a\\x1b[2Jb', '[usage]']],
    ['help', new CommanderError(0, 'commander.helpDisplayed', '(outputHelp)'), []],
  ])('%s', (_name, error, lines) => {
    expect(tell(error)).toEqual(lines);
  });

  it.each([
    ['ours', new CountersignError('usage', 'a', { cause: new Error('deep') })],
    ['not ours', new TypeError('x is no function')],
  ])('no stack unless asked for: %s', (_name, error) => {
    expect(tell(error).join('\n')).not.toMatch(/\n\s+at /);
    expect(tell(error, true).join('\n')).toMatch(/\n\s+at /);
  });

  it("says that what is not ours is not the person's mistake", () => {
    expect(tell(new TypeError('x'))).toEqual([
      'unexpected: x',
      expect.stringContaining('COUNTERSIGN_DEBUG=1'),
      '[unexpected]',
    ]);
  });
});
