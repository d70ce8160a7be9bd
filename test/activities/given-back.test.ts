import { MockActivityEnvironment } from '@temporalio/testing';
import { createGiveBacks } from '../../src/activities/given-back';
import type { CallOutput } from '../../src/contract/call';
import { createSealer } from '../../src/encryption/load';
import { readEncryption } from '../../src/encryption/keys';
import { drawKey } from '../encryption/ring';

const KEYS = { a: drawKey('a'), b: drawKey('b') };
const sealerWith = (key: keyof typeof KEYS) =>
  createSealer(readEncryption({ keys: [KEYS[key]], required: false }, {}));
const place = { namespace: 'n', workflowId: 'w', runId: 'r', activityId: 'call-1.1-0', scheduledMs: 1000 };

const proofBy = async (output: CallOutput): Promise<string | undefined> => {
  const environment = new MockActivityEnvironment({
    ...{ namespace: place.namespace, workflowExecution: { workflowId: 'w', runId: 'r' } },
    ...{ activityId: place.activityId, scheduledTimestampMs: place.scheduledMs },
  });
  let made = output;
  await environment.run(async () => {
    made = await createGiveBacks(sealerWith('a')).prove(output);
  });
  return 'proof' in made ? made.proof : undefined;
};

it.each<[string, CallOutput]>([
  ['not here', { notHere: 'no tool' }],
  ['paused', { paused: 'by ann' }],
  ['to be asked about again', { askAgain: 'forged' }],
])('proves that a call is %s, for this scheduling alone', async (_, output) => {
  const proof = await proofBy(output);
  const { isOurs } = createGiveBacks(sealerWith('a'));
  expect(await isOurs(proof, place)).toBe(true);
  for (const other of [{ runId: 'r2' }, { activityId: 'call-1.2-0' }, { scheduledMs: 1001 }])
    expect(await isOurs(proof, { ...place, ...other })).toBe(false);
  expect(await createGiveBacks(sealerWith('b')).isOurs(proof, place)).toBe(false);
});

it.each<[string, string | undefined]>([
  ['none', undefined],
  ['the words without a seal', 'did not start'],
  ['another text', 'sealed AAAA'],
])('a forged proof does not count: %s', async (_, proof) => {
  expect(await createGiveBacks(sealerWith('a')).isOurs(proof, place)).toBe(false);
});

it('proves nothing of a call that ended', async () => {
  expect(await proofBy({ inDoubt: { message: 'lost' } })).toBeUndefined();
});
