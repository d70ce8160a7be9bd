import { type OpenItem, openItemOf } from '../../src/contract/open-item';

const head = { callId: '1.1', tool: 'pay', summary: 'pay 1', since: 's', deadline: null };

it.each<[OpenItem['kind'], string | undefined]>([
  ['request', 'd'],
  ['question', undefined],
  ['in_doubt', undefined],
])('a waiting %s in short has the digest of what was shown only if that is decided', (kind, seenDigest) => {
  expect(openItemOf({ ...head, kind, seenDigest: 'd' }).seenDigest).toBe(seenDigest);
});

it('keeps the beginning of a long note', () => {
  expect(openItemOf({ ...head, kind: 'request', note: 'x'.repeat(999) }).note).toHaveLength(200);
});
