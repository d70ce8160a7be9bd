import type { InboxItem } from '../../src/client';
import { noticesOf, testNotice } from '../../src/notify/notices';
import { AT, inboxItem, NOW } from '../cli/support';
import type { Voting } from '../../src/contract/authority';

const HOUR = 3_600_000;
const item = (extra: Partial<InboxItem> = {}): InboxItem =>
  inboxItem({ deadline: new Date(NOW + 2 * HOUR).toISOString(), ...extra });
const on = (escalatedTo?: string[]): Voting => ({
  ...{ votes: [], needs: { approvals: 1, who: [] }, escalated: true },
  ...(escalatedTo === undefined ? {} : { escalatedTo }),
});
const types = (items: InboxItem[], now = NOW): string[] =>
  noticesOf(items, { now, beforeMs: HOUR }).map(({ type }) => type);
const ids = (...items: InboxItem[]): string[] =>
  noticesOf(items, { now: NOW, beforeMs: 9 * HOUR }).map(({ id }) => id);

describe('the notices of an inbox', () => {
  it.each<[string, InboxItem, number, string[]]>([
    ['a request', item(), NOW, ['request.opened']],
    ['one that expires soon', item(), NOW + HOUR, ['request.opened', 'deadline.near']],
    ['one whose time is over', item(), NOW + 5 * HOUR, ['request.opened', 'deadline.near']],
    ['one that never expires', item({ deadline: null }), NOW + 5 * HOUR, ['request.opened']],
    [
      'one that went on to others',
      item({ voting: on(['lea']) }),
      NOW,
      ['request.opened', 'request.escalated'],
    ],
    ['one that went on to nobody new', item({ voting: on() }), NOW, ['request.opened']],
    ['a doubt after it', item({ voting: on(['lea']), kind: 'in_doubt' }), NOW, ['call.in_doubt']],
    ['a call in doubt', item({ kind: 'in_doubt', deadline: null }), NOW, ['call.in_doubt']],
  ])('%s', (_name, one, now, expected) => {
    expect(types([one], now)).toEqual(expected);
  });

  it('carries what the inbox has, and not the key of the call', () => {
    const { callKey: _, ...data } = item();
    expect(noticesOf([item()], { now: NOW, beforeMs: 0 })).toEqual([
      { id: expect.stringMatching(/^msg_[0-9a-f]{32}$/), type: 'request.opened', timestamp: AT, data },
    ]);
  });

  it('is the same, word for word, however often it is sent', () => {
    const send = (now: number): string => JSON.stringify(noticesOf([item()], { now, beforeMs: HOUR })[0]);
    expect(send(NOW)).toBe(send(NOW + HOUR));
  });

  it('has another id for each thing that happened', () => {
    const all = ids(
      item(),
      item({ turn: 't-2' }),
      item({ callId: '1.2' }),
      item({ callKey: 'anew' }),
      item({ kind: 'in_doubt' }),
      item({ since: '2026-11-21T12:00:01.000Z' }),
    );
    expect(new Set(all).size).toBe(all.length);
  });
});

it('has a test that is another one each time, and is about nothing', () => {
  const [one, other] = [testNotice(NOW), testNotice(NOW)];
  expect(one).toMatchObject({ type: 'test', timestamp: AT, data: { turn: 'test', deadline: null } });
  expect(one.id).not.toBe(other.id);
});
