import { connect } from '../../src/client';
import { calls, startFixture } from '../support/fixture';
import { decide, waitFor } from '../support/turns';

/** The grant is used by a call whose worker is killed, so this stands apart from what kills nothing. */
it.each([
  ['peek', 'a call that may run again runs once more, and counts once'],
  ['pay', 'a call that may not is in doubt, and counts once'],
])('after its worker was killed between claim and handler: %s: %s', async (name) => {
  const tag = `killed-${name}`;
  const place = await startFixture({});
  const grants = (await connect({ client: place.client })).grants;
  const quiet = await place.addProcess();
  const before = await place.startSteps(calls(`${name}:${tag}`));
  await waitFor(before, '1.1');
  const { terms } = await grants.plan(before.workflowId, '1.1', { by: 'ann', times: 2 });
  const { id } = await grants.give(terms);
  await decide(before, { callId: '1.1', decision: 'denied' });
  await before.result();
  await quiet.kill();
  const trapped = await place.addProcess({ trap: { at: 'before', tag, signal: 'SIGKILL' } });
  const handle = await place.startSteps(calls(`${name}:${tag}`));
  expect(await trapped.gone).toBe('SIGKILL');
  await place.addProcess(place.otherMachine());
  await place.open(tag);
  if (name === 'pay') await waitFor(handle, '1.1', 'in_doubt');
  else expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 0 } });
  expect(await place.effects(tag)).toHaveLength(name === 'pay' ? 0 : 1);
  const all = await grants.list();
  expect(all.grants).toContainEqual(expect.objectContaining({ id, used: 1 }));
  if (name === 'pay') await handle.terminate();
  await grants.revoke({ id, by: 'ann' });
});
