import { PLAN } from '../../support/calls';
import { callSummary, type SummarizedCall } from '../../../src/contract/text/call-summary';

const call = { callId: '1.2', tool: 'write_file', arguments: {} };

test.each<[string, SummarizedCall, string]>([
  ['a call without arguments', call, '1.2 write_file'],
  [
    'arguments as name and value',
    { ...call, arguments: { path: 'a.md', n: 5, tags: ['x'], on: null } },
    '1.2 write_file path=a.md n=5 tags=["x"] on=null',
  ],
  ['a note first', { ...call, note: 'look\nagain', arguments: { n: 1 } }, '1.2 write_file (look again) n=1'],
  [
    'the preview instead of the arguments',
    { ...call, arguments: { cents: 1500 }, preview: { text: '15.00 EUR to ann\nbecause' } },
    '1.2 write_file 15.00 EUR to ann',
  ],
  [
    'the file of a plan',
    { ...call, preview: { text: '--- a', plan: PLAN } },
    '1.2 write_file a.txt, 2 hunks',
  ],
  [
    'the arguments where the preview is a diff',
    { ...call, arguments: { n: 1 }, preview: { text: '--- a\n+++ b' } },
    '1.2 write_file n=1',
  ],
  ['line ends as blanks', { ...call, arguments: { text: 'a\n\n  b' } }, '1.2 write_file text=a b'],
])('%s', (_, summarized, text) => {
  expect(callSummary(summarized)).toBe(text);
});

test('no summary is longer than 80 characters, whatever an argument holds', () => {
  const text = callSummary({ ...call, arguments: { text: 'x'.repeat(5_000_000), more: 'y' } });
  expect(text).toHaveLength(80);
  expect(text.endsWith('…')).toBe(true);
});
