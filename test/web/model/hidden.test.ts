import type { RequestOpened } from '../../../src/history/events';
import { deceivingIn, deceivingWords } from '../../../src/web/model/hidden';

const request = (args: RequestOpened['arguments'], text?: string): RequestOpened => ({
  ...{ type: 'request_opened', eventId: 7, at: '', callId: '1.1', callKey: 'key', tool: 'sh', summary: '' },
  ...{ safety: 'dangerous', effect: 'unsafe', arguments: args, argsDigest: '', deadline: null },
  ...(text === undefined ? {} : { preview: { text } }),
});

it.each([
  ['plain text', { a: 'ls -la\n\tx' }, undefined, { hidden: 0, alike: 0 }],
  ['values', { a: 'x\u202ey', b: ['\u200b'] }, undefined, { hidden: 2, alike: 0 }],
  ['names', { 'a\u200b': 1 }, undefined, { hidden: 1, alike: 0 }],
  ['the preview', {}, 'a\x1b[8m', { hidden: 1, alike: 0 }],
  ['letters that pass for others', { host: 'exаmple.com' }, undefined, { hidden: 0, alike: 1 }],
])('counts in %s', (_, args, text, counts) => {
  expect(deceivingIn(request(args, text))).toEqual(counts);
});

it.each([
  [0, 0, ''],
  [1, 0, '1 character that would not show'],
  [8, 2, '8 characters that would not show and 2 words with letters that pass for others'],
])('%d and %d in words', (hidden, alike, words) => {
  expect(deceivingWords({ hidden, alike })).toBe(words);
});
