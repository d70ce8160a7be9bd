import { titleIn, titleOf } from '../../../src/contract/text/call-title';
import { callSummary } from '../../../src/contract/text/call-summary';

const args = { cents: 1500, to: 'ann' };

it.each<[string, Parameters<typeof titleOf>[0], string]>([
  [
    'the first line of a preview',
    { tool: 'refund', arguments: args, preview: { text: '15.00 EUR to ann\nOrder 7' } },
    '15.00 EUR to ann',
  ],
  ['arguments without a preview', { tool: 'refund', arguments: args }, 'refund cents=1500 to=ann'],
  [
    'arguments beside a bare diff',
    { tool: 'write', arguments: { path: 'a' }, preview: { text: '--- a\n+++ b' } },
    'write path=a',
  ],
  ['nothing but the tool', { tool: 'stop', arguments: {} }, 'stop'],
])('shows %s', (_, call, title) => {
  expect(titleOf(call)).toBe(title);
});

it('is at most as long as a line', () => {
  expect(titleOf({ tool: 'say', arguments: { text: 'x'.repeat(500) } })).toHaveLength(80);
});

it('leaves id and tool out of a summary, where it has them', () => {
  const call = { callId: '1.2', tool: 'refund' };
  const summary = callSummary({ ...call, arguments: args });
  expect(titleIn({ ...call, summary })).toBe('cents=1500 to=ann');
  expect(titleIn({ ...call, summary: 'refund of another' })).toBe('of another');
  expect(titleIn({ ...call, summary: 'another line' })).toBe('another line');
});
