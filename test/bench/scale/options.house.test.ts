import { readOptions } from '../../../bench/scale/options';

it('measures a thousand turns, and what fits into an hour', () => {
  expect(readOptions([])).toEqual({ sizes: [1000, 10_000, 100_000], minutes: 60, write: false });
});

it('takes sizes in any order, and measures the smallest first', () => {
  const args = ['--sizes', '3000,1000', '--minutes', '5', '--write'];
  expect(readOptions(args)).toEqual({ sizes: [1000, 3000], minutes: 5, write: true });
});

it('lets each worker keep fewer turns in memory', () => {
  expect(readOptions(['--cached', '200', '--write'])).toMatchObject({ cached: 200, write: true });
});

it.each([
  [['--cached', '0'], "--cached takes whole numbers from 1 to 1000000, and not '0'"],
  [['--sizes', ''], "--sizes takes whole numbers from 100 to 1000000, and not ''"],
  [['--sizes', '1000,'], "--sizes takes whole numbers from 100 to 1000000, and not ''"],
  [['--sizes', '99'], "--sizes takes whole numbers from 100 to 1000000, and not '99'"],
  [['--sizes', '1000001'], "--sizes takes whole numbers from 100 to 1000000, and not '1000001'"],
  [['--sizes', '1e3'], "--sizes takes whole numbers from 100 to 1000000, and not '1e3'"],
  [['--sizes', '1000.5'], "--sizes takes whole numbers from 100 to 1000000, and not '1000.5'"],
  [['--sizes', '-1000'], 'argument is ambiguous'],
  [['--sizes', 'many'], "--sizes takes whole numbers from 100 to 1000000, and not 'many'"],
  [['--sizes', '1000,1000'], '--sizes names a size twice: 1000,1000'],
  [['--minutes', '0'], "--minutes takes whole numbers from 1 to 1440, and not '0'"],
  [['--minutes', '1h'], "--minutes takes whole numbers from 1 to 1440, and not '1h'"],
  [['--minutes', '1441'], "--minutes takes whole numbers from 1 to 1440, and not '1441'"],
  [['--size', '1000'], "Unknown option '--size'"],
  [['1000'], "Unexpected argument '1000'"],
])('refuses %j and shows what is right', (args, what) => {
  const run = (): unknown => readOptions(args);
  expect(run).toThrow(what);
  expect(run).toThrow(
    'usage: npm run bench:scale -- [--sizes 1000,10000] [--minutes 60] [--cached 200] [--write]',
  );
});
