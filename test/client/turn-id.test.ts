import { checkTurnId, drawTurnId, isTurnId } from '../../src/client/turn-id';

test('drawn ids are ids, differ, and sort by time', () => {
  const times = [0, 1, 1_700_000_000_000, 1_800_000_000_000, 4_000_000_000_000];
  const ids = times.map(drawTurnId);
  expect(ids.every(isTurnId)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(Array.from({ length: 50 }, () => drawTurnId(1))).size).toBeGreaterThan(40);
});

test.each(['a', 'turn-1', 'A.b_c-9', '0', 'x'.repeat(200)])('%s can be an id', (id) => {
  expect(checkTurnId(id)).toBe(id);
});

test.each(['', ' ', '-a', '.a', 'a b', 'a/b', "a'b", 'a"b', 'é', 'a\n', 'x'.repeat(201)])(
  '%j cannot',
  (id) => {
    expect(() => checkTurnId(id)).toThrow(
      expect.objectContaining({ code: 'usage', hint: expect.stringContaining('letters') }),
    );
  },
);
