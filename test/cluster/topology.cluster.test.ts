import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import { parse } from 'yaml';
import { missingAttributes } from '../../src/engine/search-attributes';
import { root } from '../support/build';
import { calls, startFixture } from '../support/fixture';
import { testAddress, testCli, testConnection } from '../support/server';
import { waitFor } from '../support/turns';

let connection: Connection;

beforeAll(async () => {
  connection = await testConnection();
});
afterAll(() => connection.close());

it('is the compose file’s: version, shards, database', async () => {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
  const about = await connection.workflowService.getClusterInfo({});
  expect(services.temporal.image).toBe(`temporalio/server:${about.serverVersion}`);
  expect(String(about.historyShardCount)).toBe(services.temporal.environment.NUM_HISTORY_SHARDS);
  expect(services.temporal.environment.DB).toBe(`${about.persistenceStore}_pgx`);
});

it('has the namespace and every search attribute, made by the compose file’s own script', async () => {
  expect(await missingAttributes({ connection, namespace: 'default' })).toEqual([]);
});

it('may be prepared again: the script finds everything there', () => {
  const env = { ...process.env, PATH: `${join(testCli(), '..')}:${process.env['PATH'] ?? ''}` };
  const settings = { TEMPORAL_ADDRESS: testAddress(), TEMPORAL_NAMESPACE: 'default' };
  const said = execFileSync('/bin/sh', [join(root, 'deploy', 'namespace.sh')], {
    env: { ...env, ...settings },
    encoding: 'utf8',
    stdio: 'pipe',
  });
  expect(said).toContain('namespace default is ready');
});

it('two workers share the turns of a queue, and the one left finishes those of the other', async () => {
  const fixture = await startFixture();
  const [first, second] = await Promise.all([
    fixture.addProcess(),
    fixture.addProcess({ ...fixture.otherMachine() }),
  ]);
  const names = Array.from({ length: 12 }, (_, index) => `t${index}`);
  const turns = await Promise.all(names.map((name) => fixture.startSteps(calls(`look:${name}`))));
  const ran = (await Promise.all(names.map((name) => fixture.effectsOf(name, 1)))).flat();
  expect(new Set(ran.map(({ pid }) => pid))).toEqual(new Set([first.pid, second.pid]));
  await first.kill();
  await Promise.all(names.map((name) => fixture.open(name)));
  const answers = await Promise.all(turns.map(async (turn) => (await turn.result()).answer));
  expect(answers).toEqual(names.map((name) => `look did ${name} in ${second.pid}`));
});

it('an unsafe call of a worker that was killed is in doubt on the other', async () => {
  const fixture = await startFixture();
  const victim = await fixture.addProcess();
  const turn = await fixture.startSteps(calls('work:once'));
  await fixture.effectsOf('once', 1);
  await fixture.addProcess(fixture.otherMachine());
  await victim.kill();
  await waitFor(turn, '1.1', 'in_doubt');
  expect(await fixture.effects('once')).toHaveLength(1);
  await turn.signal('abandon', { by: 'test', reason: 'seen' });
});
