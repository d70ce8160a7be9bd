import { z } from 'zod';
import { connect } from '../../../src/client';
import { DYNAMIC_CONFIG } from '../../../src/engine/server-args';
import type { RunningServer } from '../../../src/engine/server-launch';
import { startOwnServer, testAddress } from '../../support/server';
import { runCli } from '../run-cli';
import { until } from '../../support/until';

const findings = z.array(
  z.object({ name: z.string(), state: z.string(), detail: z.string(), todo: z.string().optional() }),
);

/** What doctor says of transitions. A machine that is busy may blur one measure, so it is asked until it says this. */
const saysOf = (address: string, state: string) =>
  until(`doctor to say ${state}`, async () => {
    const { out } = await runCli(['doctor', '--json', '--address', address]);
    const found = findings.parse(JSON.parse(out)).find(({ name }) => name === 'transitions');
    return found?.state === state && found;
  });

it('finds nothing to wait for on a server of ours', async () => {
  const { detail, todo } = await saysOf(testAddress(), 'ok');
  expect(detail).toMatch(/^\d+ ms between two tasks of a turn \(a round trip takes \d+ ms\)$/);
  expect(todo).toBeUndefined();
}, 90_000);

it('leaves a closed workflow behind, and nothing that waits', async () => {
  await saysOf(testAddress(), 'ok');
  const client = await connect({ address: testAddress() });
  const { count } = await until('it to be listed', async () => {
    const closed = await client.client.workflow.count(
      "WorkflowType = 'countersign.doctor' AND ExecutionStatus = 'Completed'",
    );
    return closed.count > 0 && closed;
  });
  expect(count).toBeGreaterThan(0);
  const turns = await client.list({ limit: 1000 });
  expect(turns.filter(({ turn }) => turn.startsWith('countersign-doctor'))).toEqual([]);
  await client.close();
}, 90_000);

describe('a server without the settings', () => {
  let server: RunningServer;

  beforeAll(async () => {
    // Later values win. The server's own default is 20 a second; a busy machine may itself be slower than that.
    const slow = DYNAMIC_CONFIG.map((setting) => setting.replace('=2000', '=5').replace('=true', '=false'));
    server = await startOwnServer({ dynamicConfig: slow });
  });

  afterAll(() => server.stop());

  it('makes a transition wait, and names the settings', async () => {
    const { detail, todo = '' } = await saysOf(server.address, 'warning');
    expect(detail).toMatch(/^they wait: \d{2,} ms between two tasks/);
    for (const setting of DYNAMIC_CONFIG) expect(todo).toContain(setting);
  }, 90_000);
});
