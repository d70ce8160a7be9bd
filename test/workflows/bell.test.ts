import { Bell } from '../../src/workflows/bell';
import { touch, type Gated } from '../../src/workflows/gated';
import { makeApprovals } from '../../src/workflows/approvals/state';

const gated = (): Gated => ({
  approvals: makeApprovals(),
  stepKey: '',
  signalVerdicts: [],
  signalCount: 0,
  revision: 7,
});

type Event = 'an end' | 'a message';

/** What a waiting step is told of events of one workflow task, before the SDK looks at conditions. */
const afterEvents = async (events: readonly Event[]) => {
  const turn = gated();
  const bell = new Bell(turn);
  bell.look();
  let isAwake = false;
  void bell.next().then(() => (isAwake = true));
  for (const event of events) {
    if (event === 'an end') bell.ring();
    else touch(turn);
  }
  await Promise.resolve();
  return { isAwake, isBehind: bell.isBehind };
};

it.each<[string, Event[], { isAwake: boolean; isBehind: boolean }]>([
  ['sleeps while nothing happens', [], { isAwake: false, isBehind: false }],
  ['is awake when a call has ended', ['an end'], { isAwake: true, isBehind: false }],
  ['is awake once for two calls', ['an end', 'an end'], { isAwake: true, isBehind: false }],
  ['leaves a message to the condition', ['a message'], { isAwake: false, isBehind: true }],
  ['waits for a message that came before', ['a message', 'an end'], { isAwake: false, isBehind: true }],
  ['has to sleep again for one that came after', ['an end', 'a message'], { isAwake: true, isBehind: true }],
])('a step %s', async (_, events, told) => {
  expect(await afterEvents(events)).toEqual(told);
});

it('rings for nobody without harm, and the step that looks then has seen it', () => {
  const bell = new Bell(gated());
  bell.look();
  bell.ring();
  expect(bell.isBehind).toBe(false);
});
