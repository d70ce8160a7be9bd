import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { root } from '../support/build';
import { startFixture } from '../support/fixture';
import { testAddress } from '../support/server';

const agents = [defineAgent({ name: 'idle', instructions: 'x', model: scriptedModel([]), tools: [] })];

/** What the image's health check says of a queue: nothing where it is well. Rejects with what it wrote otherwise. */
const check = async (COUNTERSIGN_QUEUE: string, TEMPORAL_ADDRESS = testAddress()): Promise<string> => {
  const env = { ...process.env, TEMPORAL_ADDRESS, COUNTERSIGN_QUEUE };
  const script = join(root, 'deploy', 'worker-health.cjs');
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { env });
  return stdout + stderr;
};

it('is content with a worker of this machine that polls', async () => {
  const fixture = await startFixture({ agents });
  await expect(check(fixture.taskQueue)).resolves.toBe('');
});

it('tells that there is none', async () => {
  await expect(check('nobody-polls-this')).rejects.toMatchObject({
    code: 1,
    stderr: `no worker of ${hostname()} polls nobody-polls-this\n`,
  });
});

it('fails without a trace of the stack where no server answers', async () => {
  await expect(check('any', '127.0.0.1:1')).rejects.toMatchObject({
    code: 1,
    stderr: expect.not.stringMatching(/^\s+at /m),
  });
});
