import { connect } from '../../src/client';
import { calls, startFixture } from '../support/fixture';
import { eventsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

test.concurrent(
  'what a handler said of its work is shown while it runs, and in doubt once its worker is killed',
  async () => {
    const fixture = await startFixture();
    const client = await connect({ client: fixture.client });
    const worker = await fixture.addProcess();
    const handle = await fixture.startSteps(calls('report:long'));
    const told = { fraction: 0.4, text: 'page 4 of 10, [redacted]' };
    const running = await until('its progress', async () => {
      const { activities } = await client.pendingActivities(handle.workflowId);
      return activities.find(({ progress }) => progress !== undefined);
    });
    expect(running).toMatchObject({ callId: '1.1', progress: told, partial: 'row 1 with [redacted]\n' });
    await worker.kill();
    await fixture.addHere();
    await waitFor(handle, '1.1', 'in_doubt');
    const { inDoubt } = await client.view(handle.workflowId);
    expect(inDoubt).toMatchObject([{ progress: told, partial: 'row 1 with [redacted]\n' }]);
    expect(JSON.stringify(await eventsOf(handle))).not.toContain(
      Buffer.from('secret-of').toString('base64').slice(0, 10),
    );
    await client.resolve(handle.workflowId, { callId: '1.1', resolution: 'happened', approver: 'ann' });
    await handle.result();
  },
);

test.concurrent.each(['throws', 'killed'])(
  'an attempt goes on where the one before had come: %s',
  async (tag) => {
    const fixture = await startFixture();
    const worker = await fixture.addProcess();
    const handle = await fixture.startSteps(calls(`resume:${tag}`));
    const client = await connect({ client: fixture.client });
    if (tag === 'killed') {
      await fixture.effectsOf(tag, 2);
      await until('a heartbeat', async () => {
        const { activities } = await client.pendingActivities(handle.workflowId);
        return activities.some(({ lastHeartbeatAt }) => lastHeartbeatAt !== undefined);
      });
      await worker.kill();
      await fixture.addHere();
    }
    expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0 } });
    const from = (await fixture.effects(tag)).filter(({ tool }) => tool === 'from');
    expect(from.map(({ key }) => key)).toEqual(['null', '{"page":3}']);
  },
);
