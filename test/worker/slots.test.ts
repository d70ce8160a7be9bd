import type { SlotReserveContext } from '@temporalio/worker';
import { ActivitySlots, makeTuner } from '../../src/worker/slots';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const LONGEST_MS = 10_000;
const CALM_MS = 500;
const LOOK_EVERY_MS = 20;

describe('the rest of activities', () => {
  type Rest = ReturnType<typeof makeTuner>['rest'];

  /** Decisions that come one after the other, so many milliseconds apart. */
  const decide = (rest: Rest, count: number, ms = 10) => {
    for (let n = 0; n < count; n++) {
      rest.note();
      jest.advanceTimersByTime(ms);
    }
  };

  it.each([
    ['9 decisions in a row', 9, 99, false],
    ['10 in a row', 10, 99, true],
    ['100 that are a tenth of a second apart', 100, 100, false],
  ])('after %s', (_case, count, ms, isOn) => {
    const { rest } = makeTuner();
    decide(rest, count, ms);
    expect(rest.isOn).toBe(isOn);
  });

  it('lasts until nobody has decided for half a second', () => {
    const { rest } = makeTuner();
    decide(rest, 40);
    jest.advanceTimersByTime(CALM_MS - 2 * LOOK_EVERY_MS);
    expect(rest.isOn).toBe(true);
    jest.advanceTimersByTime(2 * LOOK_EVERY_MS);
    expect(rest.isOn).toBe(false);
    decide(rest, 10);
    expect(rest.isOn).toBe(true);
  });

  it('lasts ten seconds at most, and does not begin again for as long', () => {
    const { rest } = makeTuner();
    decide(rest, 10 + LONGEST_MS / 10 - 2);
    expect(rest.isOn).toBe(true);
    decide(rest, 5);
    expect(rest.isOn).toBe(false);
    decide(rest, LONGEST_MS / 10 - 10);
    expect(rest.isOn).toBe(false);
    decide(rest, 10);
    expect(rest.isOn).toBe(true);
  });
});

describe('slots of activities', () => {
  const context: SlotReserveContext = {
    slotType: 'activity',
    taskQueue: 'q',
    workerIdentity: 'w',
    workerBuildId: '',
    isSticky: false,
  };
  const never = new AbortController().signal;

  /** Who has a slot, in the order they got it. */
  const asking = (slots: ActivitySlots, names: readonly string[], signal = never) => {
    const got: string[] = [];
    const all = names.map((name) => slots.reserveSlot(context, signal).then(() => void got.push(name)));
    return { got, all };
  };
  const settle = () => jest.advanceTimersByTimeAsync(0);

  it('go to whoever asked first, and as many as there are', async () => {
    const slots = new ActivitySlots(2, () => false);
    const { got } = asking(slots, ['a', 'b', 'c', 'd']);
    await settle();
    expect(got).toEqual(['a', 'b']);
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot();
    await settle();
    expect(got).toEqual(['a', 'b', 'c']);
    slots.releaseSlot();
    slots.releaseSlot();
    await settle();
    expect(got).toEqual(['a', 'b', 'c', 'd']);
    expect(slots.tryReserveSlot()).toEqual({});
  });

  it('are not given while closed, not even to an eager task, and all are when opened', async () => {
    let closed = true;
    const slots = new ActivitySlots(2, () => closed);
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
    const slots = new ActivitySlots(1, () => false);
    slots.tryReserveSlot();
    const ended = new AbortController();
    const { all } = asking(slots, ['gone'], ended.signal);
    const { got } = asking(slots, ['next']);
    const reason = new Error('ended');
    ended.abort(reason);
    await expect(all[0]).rejects.toBe(reason);
    slots.releaseSlot();
    await settle();
    expect(got).toEqual(['next']);
    await expect(slots.reserveSlot(context, ended.signal)).rejects.toBe(reason);
  });
});

it('a worker starts no activity during a burst of decisions, and those that wait when it has ended', () => {
  const { tuner, rest } = makeTuner();
  const slots = tuner.activityTaskSlotSupplier;
  if (!(slots instanceof ActivitySlots)) throw new Error('they are our own');
  expect(slots.tryReserveSlot()).toEqual({});
  for (let n = 0; n < 10; n++) rest.note();
  expect(slots.tryReserveSlot()).toBeNull();
  jest.advanceTimersByTime(CALM_MS);
  expect(slots.tryReserveSlot()).toEqual({});
});
