import {
  type GatheredPart,
  opaqueOf,
  readOpaque,
  type SdkCall,
  restoredParts,
} from '../../src/models/kept-reasoning';

const meta = { anthropic: { signature: 's' } };
const parts: GatheredPart[] = [
  { type: 'reasoning', text: 'because', meta },
  { type: 'text', text: 'I pay', meta: {} },
  { type: 'call', text: '', meta: {} },
  { type: 'text', text: ' now', meta: {} },
];
const call: SdkCall = { type: 'tool-call', toolCallId: 'c', toolName: 'pay', input: {} };
const kept = opaqueOf(parts, 'claude at a');

it('is given back as it came, in its order', () => {
  expect(restoredParts('I pay now', [call], readOpaque(kept, 'claude at a'))).toEqual([
    { type: 'reasoning', text: 'because', providerOptions: meta },
    { type: 'text', text: 'I pay' },
    call,
    { type: 'text', text: ' now' },
  ]);
});

it.each([
  ['another model', 'claude at b', 'I pay now', [call]],
  ['a text that was cut since', 'claude at a', 'I pay', [call]],
  ['a call that is gone since', 'claude at a', 'I pay now', []],
])('is not given back to %s', (_case, by, text, calls) => {
  expect(restoredParts(text, calls, readOpaque(kept, by))).toBeUndefined();
});

it.each([undefined, '', '{', '{"by":"claude at a","parts":[{"other":1}]}'])('is not read from %j', (text) => {
  expect(readOpaque(text, 'claude at a')).toBeUndefined();
});

it('is not kept of a reply of words and calls alone', () => {
  const plain = parts.slice(1);
  expect(opaqueOf(plain, 'claude at a')).toBeUndefined();
});
