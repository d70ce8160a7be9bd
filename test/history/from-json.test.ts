import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { makeDecode } from '../../src/history/decode';
import { turnEventsOfJson } from '../../src/history/from-json';
import { viewOf } from '../../src/history/view';
import { ringOf } from '../encryption/ring';
import { encryptedExport, exported, ofAnotherApplication, withPatch } from './exports';

const decodeWith = (keys: string[]) =>
  makeDecode(loadDataConverter(ringOf(keys.length === 0 ? {} : { keys, required: false }).replay()));

test('a turn in two runs is one turn', async () => {
  const runs = [exported('0.1.0-continuing'), exported('0.1.0-continued')];
  const events = await turnEventsOfJson({ countersign: 1, runs });
  expect(events.filter((event) => event.type === 'turn_started')).toHaveLength(2);
  expect(viewOf(events)).toMatchObject({
    status: 'answered',
    answer: 'done',
  });
});

test('a history of another application is none of ours', async () => {
  await expect(turnEventsOfJson(ofAnotherApplication())).rejects.toMatchObject({
    code: 'not_a_turn',
    message: expect.stringContaining('orderFulfilment'),
  });
});

test('a change of the workflow that this code does not know is of a newer version', async () => {
  await expect(turnEventsOfJson(withPatch('0.1.0-plain', 'two-approvers'))).rejects.toMatchObject({
    code: 'newer_version',
    message: expect.stringContaining('two-approvers'),
  });
});

test('an encrypted history is read with its key and named without it', async () => {
  const { json, key } = await encryptedExport('0.1.0-edited');
  await expect(turnEventsOfJson(json, decodeWith([]))).rejects.toMatchObject({
    code: 'key_missing',
    message: expect.stringContaining('k1'),
  });
  const [started] = await turnEventsOfJson(json, decodeWith([key]));
  expect(started).toMatchObject({ type: 'turn_started', agent: 'edited' });
});

test.each([
  ['not JSON'],
  ['{}'],
  ['[]'],
  ['null'],
  [7],
  [{ events: [{}] }],
  [{ events: 'x' }],
  [{ events: [] }],
])('%j is no history, and the error says how to export one', async (json) => {
  await expect(turnEventsOfJson(json)).rejects.toMatchObject({
    code: 'bad_history',
    hint: expect.stringContaining('temporal workflow show'),
  });
});
