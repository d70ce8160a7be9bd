import { activityIds, ACTIVITIES } from '../../../src/contract/names';
import { purposeOf } from '../../../src/history/fold/activities';

test.each([
  [activityIds.think(3), ACTIVITIES.think, { what: 'think', step: 3 }],
  [activityIds.think(3, 2), ACTIVITIES.think, { what: 'think', step: 3 }],
  [activityIds.prepare('1.2', 3), ACTIVITIES.prepare, { what: 'prepare', callId: '1.2' }],
  [activityIds.held('1.2', 3), ACTIVITIES.held, { what: 'held', callId: '1.2' }],
  [activityIds.call('1.2', 1), 'pay', { what: 'call', callId: '1.2', generation: 1 }],
  [activityIds.call('refund-7', 0), 'pay', { what: 'call', callId: 'refund-7', generation: 0 }],
  [activityIds.verify('1.2', 0, 2), ACTIVITIES.verify, { what: 'verify', callId: '1.2', generation: 0 }],
  ['17', 'somebody_elses', undefined],
])('the activity %s of type %s', (id, activityType, purpose) => {
  expect(purposeOf({ id, activityType })).toEqual(purpose);
});
