import fc from 'fast-check';
import type { InboxItem } from '../../../src/client';
import { moved, refreshQueue } from '../../../src/cli/commands/review';
import { inboxItem } from '../support';

type Queue = Parameters<typeof moved>[0];

const item = (turn: string): InboxItem => inboxItem({ turn, callKey: `key-${turn}` });
const items = (turns: string): InboxItem[] => [...turns].map(item);
const look = ({ items: all, at }: Queue): string =>
  all.map(({ turn }, place) => (place === at ? `[${turn}]` : turn)).join('');
const queueAt = (turns: string, at: number): Queue => ({ items: items(turns), at });

describe('going through the inbox', () => {
  it('goes on and back, and stops at both ends', () => {
    const start = { items: items('abc'), at: 0 };
    expect(look(start)).toBe('[a]bc');
    expect(look(moved(start, -1))).toBe('[a]bc');
    expect(look(moved(moved(moved(start, 1), 1), -1))).toBe('a[b]c');
    const end = moved(start, 4);
    expect(end.items[end.at]).toBeUndefined();
    expect(look(moved(end, -1))).toBe('ab[c]');
  });

  it.each<[string, Queue, string, string]>([
    ['the same', queueAt('abc', 1), 'abc', 'a[b]c'],
    ['another order', queueAt('abc', 1), 'cba', 'a[b]c'],
    ['the one looked at is gone', queueAt('abc', 1), 'ac', 'a[c]'],
    ['one before it is gone', queueAt('abc', 2), 'bc', 'b[c]'],
    ['a new one that is earlier', queueAt('bc', 0), 'abc', '[b]ca'],
    ['a new one at the end', queueAt('ab', 2), 'abc', 'ab[c]'],
    ['all gone', queueAt('ab', 1), '', ''],
  ])('takes up what changed: %s', (_name, queue, now, expected) => {
    expect(look(refreshQueue(queue, items(now)))).toBe(expected);
  });

  it('holds exactly what waits, and counts what is new, whatever happens', () => {
    const some = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, fc.nat(8), (before, now, at) => {
        const queue = queueAt(before.join(''), Math.min(at, before.length));
        const next = refreshQueue(queue, items(now.join('')));
        expect(next.items.map(({ turn }) => turn).sort()).toEqual([...now].sort());
        expect(next.fresh).toBe(now.filter((one) => !before.includes(one)).length);
        const current = queue.items[queue.at]?.turn;
        if (current !== undefined && now.includes(current)) expect(next.items[next.at]?.turn).toBe(current);
      }),
    );
  });
});
