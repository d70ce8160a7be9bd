import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../../src/client';
import { defineAgent } from '../../../src/tools/define-agent';
import { recordTool, useEffects } from '../../support/effects';
import { type Fixture, startFixture } from '../../support/fixture';
import { scriptBook } from '../../support/script-book';
import { testAddress } from '../../support/server';
import { sshKeygen } from '../../support/ssh';
import { waitFor } from '../../support/turns';
import { until } from '../../support/until';
import { endTyped, typed } from '../typed';
import type { Ended } from '../process';
import { runCli } from '../run-cli';
import { needs } from '../../support/parts';

needs('ssh');

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let home = '';
/** Other tests have turns of agents of other names. */
const REVIEWED = `reviewed-${process.pid}`;

beforeAll(async () => {
  fixture = await startFixture({});
  home = join(fixture.directory, 'home');
  await mkdir(join(home, '.ssh'), { recursive: true, mode: 0o700 });
  for (const name of ['anna', 'bob', 'other'])
    sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-f', join(home, '.ssh', name)]);
  const line = (name: string): string => readFileSync(join(home, '.ssh', `${name}.pub`), 'utf8').trim();
  await writeFile(
    join(home, 'approvers.yaml'),
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { keys: ['${line('anna')}'], mail: anna@example.com }
  bob: { keys: ['${line('bob')}'] }
  cleo: {}
rules:
  - { name: own key, tools: [pay], then: ask, assurance: signed_ssh }
  - { name: default, then: by_safety }
`,
  );
  // Bob's key is in the agent only.
  await mkdir(join(home, 'away'));
  for (const name of ['bob', 'bob.pub']) await rename(join(home, '.ssh', name), join(home, 'away', name));
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'unsafe' });
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [pay] });
  const reviewed = defineAgent({ name: REVIEWED, instructions: 'do', model: book.model, tools: [pay] });
  await fixture.addWorker({}, { agents: [clerk, reviewed], approvers: join(home, 'approvers.yaml') });
  client = await connect({ address: testAddress() });
});
afterEach(endTyped);
afterAll(() => client.close());

async function asked(tag: string, agent = 'clerk'): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent, prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

const cli = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  runCli(args, { cwd: home, env: { TEMPORAL_ADDRESS: testAddress(), HOME: home, COLUMNS: '200', ...env } });

async function approve(turn: string, args: string[], env?: NodeJS.ProcessEnv): Promise<Ended> {
  const seen = (await client.view(turn)).calls[0]?.request?.seenDigest ?? '';
  return cli(['approve', `${turn}/1.1`, '--saw', seen, ...args], env);
}

const done = (turn: string): Promise<unknown> => fixture.client.workflow.getHandle(turn).result();

test('--sign finds the key in ~/.ssh, shows what it signs, and the call runs', async () => {
  const turn = await asked('found');
  const { code, err } = await approve(turn, ['--sign', '--as', 'ANNA@example.com', '--reason', 'fine']);
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('what you sign:') });
  expect(err).toMatch(/approver +anna\n/);
  expect(err).toContain(turn);
  await done(turn);
  expect(await effects.lines('found')).toEqual(['pay found']);
  const { out } = await cli(['show', turn]);
  expect(out).toContain('approved by anna (signed with an SSH key)');
});

test('a signature stands in the audit file, and is verified there without a server', async () => {
  const turn = await asked('audited');
  await approve(turn, ['--sign', '--as', 'anna', '--reason', 'fine']);
  await done(turn);
  expect(await cli(['audit', 'keys', 'audit.key'])).toMatchObject({ code: 0 });
  const exported = await cli(['audit', 'export', '--turn', turn, '--key', 'audit.key', '--out', 'a.jsonl']);
  expect(exported).toMatchObject({ code: 0 });
  const verify = ['audit', 'verify', 'a.jsonl', '--approvers'];
  const alone = { TEMPORAL_ADDRESS: 'localhost:1' };
  expect(await cli([...verify, 'approvers.yaml'], alone)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/decisions +verified: 1, no signature: 0, [^]*signed by +anna: 1/),
  });
  const byItself = await cli(['audit', 'verify', 'a.jsonl'], alone);
  expect(byItself).toMatchObject({
    code: 0,
    out: expect.stringMatching(/key in this file only: 1, no signature: 0, [^]*as this file carries them/),
  });
  const text = readFileSync(join(home, 'approvers.yaml'), 'utf8');
  const key = readFileSync(join(home, '.ssh', 'anna.pub'), 'utf8').trim();
  await writeFile(join(home, 'later.yaml'), text.replace(/keys: \['[^']*'\], mail/, 'mail'));
  expect(await cli([...verify, 'later.yaml'], alone)).toMatchObject({
    code: 0,
    out: expect.stringContaining('unknown key: 1'),
  });
  expect(await cli([...verify, 'later.yaml', '--approvers', 'approvers.yaml'], alone)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/key removed since: 1, [^]*signed by +anna: 1/),
  });
  await writeFile(join(home, 'revoked.yaml'), `${text}revoked: [{ key: '${key}', since: 2020-01-01 }]\n`);
  expect(await cli([...verify, 'revoked.yaml'], alone)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/key revoked: 1, [^]*revoked since 2020-01-01; this was recorded since then/),
  });
  await writeFile(join(home, 'elsewhere.yaml'), text.replace('7f3c', 'ffff'));
  expect(await cli([...verify, 'elsewhere.yaml'], alone)).toMatchObject({
    code: 1,
    out: expect.stringContaining(`bad signature  ${turn}/1.1, anna`),
    err: expect.stringMatching(/signed decisions do not hold[^]*\[audit_broken\]/),
  });
});

test('review --sign signs what is approved there, and leaves the rest undecided', async () => {
  const turn = await asked('reviewed', REVIEWED);
  await until('it in the inbox', async () => (await client.inbox({ agent: REVIEWED })).length > 0);
  const named = ['--as', 'anna', '--agent', REVIEWED, '--approvers', join(home, 'approvers.yaml')];
  const env = { ...process.env, TEMPORAL_ADDRESS: testAddress(), HOME: home };
  const unsigned = typed(['review', '--as', 'anna', '--agent', REVIEWED], env);
  await unsigned.answer('Your decision', 'a');
  await unsigned.answer('as it is?', 'y');
  await unsigned.sees('this one is not signed');
  await unsigned.answer('Your decision', 'q');
  expect(await unsigned.ended).toBe(0);
  const review = typed(['review', '--sign', ...named], env);
  await review.answer('Your decision', 'a');
  await review.answer('as it is?', 'y');
  await review.sees('what you sign:');
  await review.sees('1 decided');
  expect(await review.ended).toBe(0);
  await done(turn);
  expect(await effects.lines('reviewed')).toEqual(['pay reviewed']);
  expect((await cli(['show', turn])).out).toContain('approved by anna (signed with an SSH key)');
});

test('changed arguments are signed as they run', async () => {
  const turn = await asked('before');
  const { code, err } = await approve(turn, ['--set', 'tag=after', '--yes', '--sign', '--as', 'anna']);
  expect({ code, err }).toMatchObject({ code: 0 });
  await done(turn);
  expect(await effects.lines('after')).toEqual(['pay after']);
});

describe('with an agent', () => {
  let env: NodeJS.ProcessEnv = {};
  beforeAll(() => {
    const socket = join(home, 'agent');
    const started = execFileSync('ssh-agent', ['-s', '-a', socket], { encoding: 'utf8' });
    env = { SSH_AUTH_SOCK: socket, SSH_AGENT_PID: /SSH_AGENT_PID=(\d+)/.exec(started)?.[1] };
  });
  afterAll(() => void execFileSync('ssh-agent', ['-k'], { env: { ...process.env, ...env } }));

  test('--sign signs with the key that the agent holds, and says where it does not', async () => {
    const turn = await asked('agent');
    const args = ['--sign', '--as', 'bob'];
    expect((await approve(turn, args, env)).err).toMatch(/none of the keys of bob .* the agent holds none/);
    execFileSync('ssh-add', ['-q', join(home, 'away', 'bob')], { env: { ...process.env, ...env } });
    expect(await approve(turn, args, env)).toMatchObject({ code: 0 });
    await done(turn);
    expect(await effects.lines('agent')).toEqual(['pay agent']);
  });
});

test('what does not count is said before anything is sent, and nothing is decided', async () => {
  const turn = await asked('refused');
  const rows: [args: string[], code: string, why: RegExp][] = [
    [['--as', 'anna'], 'signature_needed', /wants decisions signed ssh, and this one is not signed/],
    [['--sign', '--as', 'mallory'], 'signature_needed', /names nobody 'mallory'/],
    [['--sign', '--as', 'cleo'], 'signature_needed', /has no key of cleo/],
    [['--sign', '--as', 'bob'], 'signature_needed', /there is no agent/],
    [['--sign', join(home, '.ssh', 'other'), '--as', 'anna'], 'signature_needed', /would not count/],
    [['--sign', join(home, 'none'), '--as', 'anna'], 'signature_needed', /there is no key in/],
    [['--sign', '--as', 'anna', '--approvers', 'none.yaml'], 'file_failed', /none\.yaml/],
    [['--sign', '--as', 'anna', '--hunks', '1'], 'usage', /proposes no hunks/],
  ];
  for (const [args, code, why] of rows) {
    const { err } = await approve(turn, args);
    expect(err).toMatch(why);
    expect(err).toContain(code);
  }
  expect((await client.view(turn)).calls[0]).toMatchObject({ phase: 'request', decisions: [] });
  const { out } = await cli(['approvers', 'explain', `${turn}/1.1`]);
  expect(out).toMatch(/may sign +anna, bob, cleo/);
  const denied = await cli(['deny', `${turn}/1.1`, '--reason', 'no', '--as', 'anna', '--sign']);
  expect(denied).toMatchObject({ code: 0 });
  await done(turn);
  expect(await effects.lines('refused')).toEqual([]);
});
