import type { SlotReserveContext } from '@temporalio/worker';
import { ActivityRest, makeTuner, Slots } from '../../src/worker/slots';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const LONGEST_MS = 10_000;

describe('the rest of activities', () => {
  const onEnd = jest.fn();
  beforeEach(() => onEnd.mockClear());

  /** A rest that has seen workflow tasks begin (over zero) and end (under zero). */
  const after = (...changes: number[]): ActivityRest => {
    const rest = new ActivityRest(onEnd);
    for (const change of changes) add(rest, change);
    return rest;
  };
  const add = (rest: ActivityRest, change: number): void => {
    for (let n = 0; n < Math.abs(change); n++) rest.count(change > 0 ? 1 : -1);
  };

  it.each([
    ['nothing runs', [], false],
    ['35 workflow tasks run', [35], false],
    ['36 run', [36], true],
    ['4 of them run still', [36, -32], true],
    ['3 of them run still', [36, -33], false],
    ['35 run after it was calm', [36, -33, 32], false],
    ['36 run again after it was calm', [36, -33, 33], true],
  ])('where %s', (_case, changes, isOn) => {
    expect(after(...changes).isOn).toBe(isOn);
  });

  it('says once that it has ended', () => {
    after(36, -33);
    expect(onEnd).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(2 * LONGEST_MS);
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  it('lasts ten seconds at most, and does not begin again for as long', () => {
    const rest = after(40);
    jest.advanceTimersByTime(LONGEST_MS - 1);
    expect(rest.isOn).toBe(true);
    jest.advanceTimersByTime(1);
    expect([rest.isOn, onEnd.mock.calls.length]).toEqual([false, 1]);
    jest.advanceTimersByTime(LONGEST_MS - 1);
    add(rest, 1);
    expect(rest.isOn).toBe(false);
    jest.advanceTimersByTime(1);
    add(rest, 1);
    expect(rest.isOn).toBe(true);
  });
});

describe('slots', () => {
  const context: SlotReserveContext = {
    slotType: 'activity',
    taskQueue: 'q',
    workerIdentity: 'w',
    workerBuildId: '',
    isSticky: false,
  };
  const used = { slotInfo: { type: 'activity' as const, activityType: 'tool' } };
  const never = new AbortController().signal;

  /** Who has a slot, in the order they got it. */
  const asking = (slots: Slots<never>, names: readonly string[], signal = never) => {
    const got: string[] = [];
    const all = names.map((name) => slots.reserveSlot(context, signal).then(() => void got.push(name)));
    return { got, all };
  };
  const settle = () => jest.advanceTimersByTimeAsync(0);

  it('go to whoever asked first, and as many as there are', async () => {
    const slots = new Slots<never>(2, () => false);
    const { got } = asking(slots, ['a', 'b', 'c', 'd']);
    await settle();
    expect(got).toEqual(['a', 'b']);
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot({});
    await settle();
    expect(got).toEqual(['a', 'b', 'c']);
    slots.releaseSlot({});
    slots.releaseSlot({});
    await settle();
    expect(got).toEqual(['a', 'b', 'c', 'd']);
    expect(slots.tryReserveSlot()).toEqual({});
  });

  it('are not given while closed, not even to an eager task, and all are when opened', async () => {
    let closed = true;
    const slots = new Slots<never>(2, () => closed);
    const { got } = asking(slots, ['a', 'b', 'c']);
    await settle();
    expect(got).toEqual([]);
    expect(slots.tryReserveSlot()).toBeNull();
    closed = false;
    slots.giveToWaiting();
    await settle();
    expect(got).toEqual(['a', 'b']);
  });

  it('are not given to a poll that the SDK has ended, which rejects with its reason', async () => {
    const slots = new Slots<never>(1, () => false);
    slots.tryReserveSlot();
    const ended = new AbortController();
    const { all } = asking(slots, ['gone'], ended.signal);
    const { got } = asking(slots, ['next']);
    const reason = new Error('ended');
    ended.abort(reason);
    await expect(all[0]).rejects.toBe(reason);
    slots.releaseSlot({});
    await settle();
    expect(got).toEqual(['next']);
    await expect(slots.reserveSlot(context, ended.signal)).rejects.toBe(reason);
  });

  it('count what runs: not a poll that brought nothing', () => {
    const count = jest.fn();
    const slots = new Slots(5, () => false, count);
    slots.tryReserveSlot();
    slots.releaseSlot({});
    expect(count).not.toHaveBeenCalled();
    slots.tryReserveSlot();
    slots.markSlotUsed();
    slots.releaseSlot(used);
    expect(count.mock.calls).toEqual([[1], [-1]]);
  });
});

it('a worker starts no activity while 36 workflow tasks run, and those that wait when they have ended', async () => {
  const { workflowTaskSlotSupplier: tasks, activityTaskSlotSupplier: activities } = makeTuner();
  if (!(tasks instanceof Slots) || !(activities instanceof Slots)) throw new Error('they are our own');
  for (let n = 0; n < 36; n++) {
    tasks.tryReserveSlot();
    tasks.markSlotUsed();
  }
  expect(activities.tryReserveSlot()).toBeNull();
  for (let n = 0; n < 33; n++)
    tasks.releaseSlot({ slotInfo: { type: 'workflow', workflowType: 'agentTurn', isSticky: true } });
  expect(activities.tryReserveSlot()).toEqual({});
});
