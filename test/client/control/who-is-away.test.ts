import { readAwayEntries, whoIsAway } from '../../../src/client/control/who-is-away';
import type { Away } from '../../../src/contract/control/away';
import { AT } from '../../cli/support';

const entry = (from: string, to: string, start = AT): Away => ({
  ...{ id: 'e', from, to, start, end: '2999-01-01T00:00:00.000Z', at: AT, takenAt: AT },
});
const clientOf = (list: () => Promise<{ entries: Away[] }>) => ({
  away: { list, put: jest.fn(), end: jest.fn() },
});

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('asks once for all who want to know, and again after a few seconds', async () => {
  const list = jest.fn(() => Promise.resolve({ entries: [entry('ann', 'bob')] }));
  const entries = readAwayEntries(clientOf(list), () => undefined);
  expect(await Promise.all([entries(), entries()])).toEqual([[entry('ann', 'bob')], [entry('ann', 'bob')]]);
  await entries();
  expect(list).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(3_001);
  await entries();
  expect(list).toHaveBeenCalledTimes(2);
});

it('says once that nobody can tell, and goes on without', async () => {
  const notes: string[] = [];
  let isLost = true;
  const list = () => (isLost ? Promise.reject(new Error('no worker')) : Promise.resolve({ entries: [] }));
  const entries = readAwayEntries(clientOf(list), (text) => void notes.push(text));
  const look = async (): Promise<void> => {
    jest.advanceTimersByTime(3_001);
    expect(await entries()).toEqual([]);
  };
  await look();
  await look();
  expect(notes).toEqual(['nobody can tell who is away, so nobody stands in for them here: no worker']);
  isLost = false;
  await look();
  isLost = true;
  await look();
  expect(notes).toHaveLength(2);
});

it('names people as the file does, and leaves out who is not away yet', async () => {
  const all = () =>
    Promise.resolve([entry('ANN', 'b@example.org'), entry('bob', 'ann', '2998-01-01T00:00:00Z')]);
  const people = [{ name: 'ann', groups: [], delegates: [] }];
  const names: Record<string, string> = { ANN: 'ann', 'b@example.org': 'bob' };
  const file = { people, personOf: (name: string) => names[name] };
  const since = Date.parse(AT);
  const until = '2999-01-01T00:00:00.000Z';
  expect(await whoIsAway(all, () => Promise.resolve(file))).toEqual({
    people,
    standIns: [{ voter: 'bob', person: 'ann', entry: 'e', until, since }],
  });
  expect(await whoIsAway(all, undefined)).toEqual({
    standIns: [{ voter: 'b@example.org', person: 'ANN', entry: 'e', until, since }],
  });
  expect(await whoIsAway(() => Promise.resolve([]), undefined)).toEqual({ standIns: [] });
});
