import { factsToSign, signatureOf, timesToSign } from '../../../src/authority/signatures/facts-to-sign';
import { call, request } from '../../cli/support';
import type { Authority } from '../../../src/contract/authority';

const AUTHORITY: Authority = {
  fileDigest: 'f',
  ruleDigest: 'r',
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [], need: 1, groups: [], notRequester: false, denyNeeds: 1 },
    assurance: 'signed',
  },
  requesters: ['rita'],
};
const PLACE = { installation: 'i', namespace: 'n', workflowId: 'w' };
const waiting = () => call({ runId: 'run', request: request({ authority: AUTHORITY }) });

it('takes what is signed from what is shown', () => {
  const { seenDigest, toolDigest } = request();
  expect(factsToSign({ agent: 'clerk' }, waiting(), PLACE)).toEqual({
    ...{
      ...PLACE,
      runId: 'run',
      callKey: 'key:1.1',
      generation: 0,
      agent: 'clerk',
      tool: 'pay',
      toolDigest,
      seenDigest,
    },
    ...{ effectiveDigest: expect.stringMatching(/^[0-9a-f]{64}$/), ruleDigest: 'r', requesters: ['rita'] },
  });
});

it('is about the next start where a call in doubt is to run again', () => {
  const facts = factsToSign({ agent: 'clerk' }, { ...waiting(), phase: 'in_doubt' }, PLACE);
  expect(facts).toMatchObject({ generation: 1, callKey: 'key:1.1' });
});

it('has nothing to sign where no rule says who decides', () => {
  expect(factsToSign({ agent: 'clerk' }, call(), PLACE)).toBeUndefined();
});

it.each<[string, string | null, string]>([
  ['an hour after the request expires', '2026-01-02T00:00:00.000Z', '2026-01-02T01:00:00.000Z'],
  ['a week and an hour where it never does', null, '2026-01-08T01:00:00.000Z'],
  ['an hour where it is late', '2025-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z'],
])('a signature counts until %s', (_, deadline, notAfter) => {
  const now = Date.UTC(2026, 0, 1);
  const at = '2026-01-01T00:00:00.000Z';
  expect(timesToSign(call({ request: request({ deadline }) }), now)).toEqual({ at, notAfter });
});

it('leaves out a text that is too long to go with it', () => {
  const times = { at: 'a', notAfter: 'b' };
  expect(signatureOf('ssh', 'x', { ...times, text: 'short' })).toHaveProperty('statement', 'short');
  expect(signatureOf('ssh', 'x', { ...times, text: 'x'.repeat(3000) })).not.toHaveProperty('statement');
});
