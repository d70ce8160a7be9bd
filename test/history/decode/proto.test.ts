import { defaultPayloadConverter } from '@temporalio/common';
import { patchOf, toIso, toNumber } from '../../../src/history/decode/proto';

test.each([
  [5, 5],
  [{ toNumber: () => 7 }, 7],
  [null, 0],
  [undefined, 0],
])('%j as a number', (value, number) => {
  expect(toNumber(value)).toBe(number);
});

test('a timestamp is cut to milliseconds', () => {
  expect(toIso({ nanos: 1_999_999 })).toBe('1970-01-01T00:00:00.001Z');
  expect(toIso(null)).toBeUndefined();
});

const marker = (markerName: string, data: unknown) => ({
  markerName,
  details: { 'patch-data': { payloads: [defaultPayloadConverter.toPayload(data)] } },
});

test.each([
  [marker('core_patch', { id: 'faster' }), 'faster'],
  [marker('core_patch', { id: 5 }), undefined],
  [marker('other', { id: 'faster' }), undefined],
  [{ markerName: 'core_patch' }, undefined],
])('the patch of marker %#', (attributes, id) => {
  expect(patchOf(attributes)).toBe(id);
});
