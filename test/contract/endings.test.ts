import { denied, didNot, doubt, happened, lost, unprepared, unstarted } from '../../src/contract/endings';
import { FAILURES } from '../../src/contract/names';

const ran = { cancelled: false, message: 'broken' };

describe('unstarted', () => {
  it.each([
    ['a cancellation', { ...ran, cancelled: true }, 'cancelled'],
    ['a schedule-to-start timeout', { ...ran, timeout: 'SCHEDULE_TO_START' }, 'expired'],
    ['a worker without the tool', { ...ran, type: FAILURES.notRegistered }, 'tool_not_found'],
    ['a heartbeat timeout', { ...ran, timeout: 'HEARTBEAT' }, undefined],
    ['a start-to-close timeout', { ...ran, timeout: 'START_TO_CLOSE' }, undefined],
    ['any other failure', ran, undefined],
  ])('%s', (_, activity, code) => {
    expect(unstarted(activity)?.code).toBe(code);
  });
});

describe('a call that was lost', () => {
  it.each([
    ['HEARTBEAT', 'stopped answering', 'transport', 'was lost'],
    ['START_TO_CLOSE', 'not heard of again', 'timeout', 'did not end in time'],
    [undefined, 'failed on its way back: broken', 'unknown', 'broken'],
  ])('by %s', (timeout, unsafe, code, message) => {
    expect(doubt({ ...ran, timeout })).toContain(unsafe);
    expect(lost({ ...ran, timeout })).toEqual({ code, message: expect.stringContaining(message) });
  });

  it('says something where the failure says nothing', () => {
    expect(lost({ cancelled: false, message: '' }).message).toBe('The call failed.');
  });
});

it.each([
  [undefined, 'ann denied this call: no reason was given. Nothing ran.'],
  ['', 'ann denied this call: no reason was given. Nothing ran.'],
  ['too much', 'ann denied this call: too much. Nothing ran.'],
])('a denial with reason %p', (reason, message) => {
  expect(denied({ approver: 'ann', reason })).toEqual({ code: 'denied', message });
});

it('tells what a person found', () => {
  expect(didNot({ approver: 'ann', reason: 'looked' })).toEqual({
    code: 'transport',
    message: 'The call was interrupted. ann found that it did not take effect. Reason: looked',
  });
  expect(happened({ approver: 'ann' }, undefined)).toBe(
    'The call was interrupted. ann found that it did take effect.',
  );
  expect(happened({ approver: 'ann' }, 'refund 7')).toMatch(/take effect\.\n\nrefund 7$/);
});

it('names the tool that could not be prepared', () => {
  expect(unprepared('pay', 'no answer')).toEqual({
    code: 'transport',
    message: 'The worker that has pay could not prepare this call: no answer. Nothing ran.',
  });
});
