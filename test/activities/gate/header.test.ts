import { defaultPayloadConverter } from '@temporalio/common';
import { readGateHeader } from '../../../src/activities/gate/header';

const said = {
  ...{ callId: '1.1', id: '1.1', tool: 'refund', agent: 'pays', callKey: 'k:1.1', generation: 0 },
  ...{ argsDigest: 'a', toolDigest: 't', effect: 'unsafe', timeoutMs: 1, originalRunId: 'run-1' },
};
const read = (value: unknown) => readGateHeader(defaultPayloadConverter.toPayload(value));

it('is read without what only a turn may say of a call', () => {
  const grant = { id: 'g', digest: 'x', use: 1, of: 9 };
  expect(read({ ...said, grant, dry: true, plan: {}, origin: { requester: 'eve' } })).toEqual(said);
});

it.each([[{}], ['text'], [null], [{ ...said, generation: -1 }], [{ ...said, callKey: 1 }]])(
  'refuses %j',
  (value) => expect(read(value)).toBeUndefined(),
);
