import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { EXIT } from '../../src/cli/exit-codes';
import { connect, type Countersign, type Drained, type Session } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { createRecorder } from '../../src/audit/records';
import { ensureBuilt } from '../support/build';
import { runCliProcess } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import type { FixtureSettings } from '../support/process-worker';
import { resetTurn } from '../support/operator';
import { testAddress, testBundle } from '../support/server';
import { decide, eventsOf, openOf, resolve, seenOf, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';
import type { WorkerHere } from '../support/worker-here';

/** Turns, and sessions, that wait while a worker is replaced under them; `COUNTERSIGN_TURNS` sets another number. */
const TURNS = Number(process.env['COUNTERSIGN_TURNS'] ?? 8);

let client: Countersign;

beforeAll(ensureBuilt);
beforeAll(async () => {
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

/** A deployment of one test. */
interface Deployment {
  fixture: Fixture;
  name: string;
  /** Starts a worker of a build. */
  worker(build: string, more?: Partial<FixtureSettings>): Promise<WorkerHere>;
  makeCurrent(build: string): Promise<void>;
  /** Drains a build, all at once. */
  drain(build: string): Promise<Drained[]>;
}

const cli = (...args: string[]) => runCli(args, { env: { TEMPORAL_ADDRESS: testAddress() } });

/** Build 1 runs and is the current one. */
const deploy = async (settings: Partial<FixtureSettings> = {}): Promise<Deployment> => {
  const fixture = await startFixture();
  const name = `d-${randomUUID()}`;
  const deployment: Deployment = {
    fixture,
    name,
    worker: (buildId, more = {}) => fixture.addHere({ ...settings, ...more, buildId, deployment: name }),
    makeCurrent: (build) => client.makeCurrent({ deployment: name, build }),
    drain: async (build) => {
      await until(`the turns of build ${build} to be listed`, async () => {
        const open = `TaskQueue = '${fixture.taskQueue}' AND ExecutionStatus = 'Running'`;
        const version = `TemporalWorkerDeploymentVersion = '${name}:${build}'`;
        const { workflow } = fixture.client;
        const { count } = await workflow.count(open);
        return (await workflow.count(`${open} AND ${version}`)).count === count;
      });
      return all(client.drain({ deployment: name, build }, { spreadMs: 0 }));
    },
  };
  return deployment;
};

const all = async (drained: AsyncIterable<Drained>): Promise<Drained[]> => {
  const list: Drained[] = [];
  for await (const one of drained) list.push(one);
  return list;
};

const approve = async (handle: TurnHandle, callId = '1.1'): Promise<void> => {
  const { callKey: _key, ...seen } = await seenOf(handle, callId);
  const decision: Decision = { callId, decision: 'approved', approver: 'ann', ...seen };
  expect(await client.decide(handle.workflowId, decision)).toMatchObject({ status: 'accepted' });
};

const waiting = async ({ fixture }: Deployment, tags: readonly string[]): Promise<TurnHandle[]> => {
  const handles = await Promise.all(tags.map((tag) => fixture.startSteps(calls(`save:${tag}`))));
  await Promise.all(handles.map((handle) => waitFor(handle, '1.1')));
  return handles;
};

const runOf = async (handle: TurnHandle): Promise<string> => (await handle.describe()).runId;

const tagsOf = (what: string): string[] => Array.from({ length: TURNS }, (_, n) => `${what}${n}.`);

test(`${TURNS} turns wait while their worker is replaced, forwards and back: each tool runs exactly once`, async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  let old = await deployment.worker('1');
  await deployment.makeCurrent('1');
  for (const [from, to] of [
    ['1', '2'],
    ['2', '1'],
  ] as const) {
    const tags = tagsOf(`to${to}-`);
    const handles = await waiting(deployment, tags);
    const keys = await Promise.all(handles.map((handle) => seenOf(handle)));
    const next = await deployment.worker(to);
    await deployment.makeCurrent(to);
    const drained = await deployment.drain(from);
    expect(drained.map(({ outcome }) => outcome)).toEqual(tags.map(() => 'moved'));
    await Promise.all(handles.map((handle) => waitFor(handle, '1.1')));
    await old.stop();
    // The same call, and what was shown of it.
    expect(await Promise.all(handles.map((handle) => seenOf(handle)))).toEqual(keys);
    await Promise.all(handles.map((handle) => approve(handle)));
    for (const [index, handle] of handles.entries()) {
      const tag = tags[index] ?? '';
      expect((await handle.result()).answer).toBe(`save did ${tag} in ${next.pid}`);
      expect(await fixture.effects(tag)).toMatchObject([{ pid: next.pid, key: `${keys[index]?.callKey}:0` }]);
    }
    old = next;
  }
});

test('what happened before stays: results are not made again, the record is one, and each run replays', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const handle = await fixture.startSteps(calls('put:before', 'save:after', 'note:done'));
  await fixture.open('before');
  await fixture.effectsOf('done', 1);
  const item = await waitFor(handle, '1.2');
  await until('both results', async () => {
    const { calls: known } = await client.view(handle.workflowId);
    return known.filter(({ phase }) => phase === 'done').length === 2;
  });
  await deployment.worker('2');
  await deployment.makeCurrent('2');
  expect(await deployment.drain('1')).toEqual([{ id: handle.workflowId, outcome: 'moved' }]);
  expect(await waitFor(handle, '1.2')).toEqual(item);
  // The memo has the request all the while. History has it again once the next run has prepared it.
  const view = await until('the request of the next run', async () => {
    const seen = await client.view(handle.workflowId);
    return seen.status === 'waiting' && seen;
  });
  expect(view.requests).toMatchObject([{ callId: '1.2' }]);
  expect(view.calls.map(({ phase }) => phase)).toEqual(['done', 'request', 'done']);
  expect(view.steps).toHaveLength(1);
  await approve(handle, '1.2');
  const result = await handle.result();
  expect(result.answer).toMatch(/^put did before .* save did after .* note did done/);
  expect(result.counts).toMatchObject({ calls: 3, failed: 0, requests: 1 });
  for (const tag of ['before', 'after', 'done']) expect(await fixture.effects(tag)).toHaveLength(1);
  const events = await client.timeline(handle.workflowId);
  expect(events.filter(({ type }) => type === 'call_ended')).toHaveLength(3);
  expect(events).toContainEqual(expect.objectContaining({ type: 'continued_as_new', moved: true }));
  for (const history of await client.histories(handle.workflowId))
    await Worker.runReplayHistory({ workflowBundle: { codePath: testBundle() } }, history);
});

test.each(['update', 'signal'])(
  'a decision by %s while the turn moves is neither lost nor taken twice',
  async (way) => {
    const deployment = await deploy();
    const { fixture } = deployment;
    await deployment.worker('1');
    await deployment.makeCurrent('1');
    const tags = tagsOf(`race-${way}-`);
    const handles = await waiting(deployment, tags);
    await deployment.worker('2');
    await deployment.makeCurrent('2');
    const decideOne = async (handle: TurnHandle): Promise<void> => {
      const decision: Decision = {
        ...{ callId: '1.1', decision: 'approved', approver: 'ann', decisionId: randomUUID() },
        seenDigest: (await seenOf(handle)).seenDigest,
      };
      if (way === 'signal') return signalDecision(handle, decision);
      expect(await client.decide(handle.workflowId, decision)).toMatchObject({ status: 'accepted' });
    };
    const [drained] = await Promise.all([deployment.drain('1'), ...handles.map(decideOne)]);
    expect(drained.length).toBeLessThanOrEqual(TURNS);
    for (const [index, handle] of handles.entries()) {
      expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0, requests: 1 } });
      expect(await fixture.effects(tags[index] ?? '')).toHaveLength(1);
    }
  },
);

test('a turn in which something runs, is in doubt or was edited stays where it is, and says why', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  const first = await fixture.addProcess({ buildId: '1', deployment: deployment.name });
  await deployment.makeCurrent('1');
  const doubtful = await fixture.startSteps(calls('work:doubtful', 'save:with-doubt'));
  await fixture.effectsOf('doubtful', 1);
  await first.kill();
  await deployment.worker('1');
  await waitFor(doubtful, '1.1', 'in_doubt');
  const running = await fixture.startSteps(calls('work:running', 'save:with-running'));
  await fixture.effectsOf('running', 1);
  await waitFor(running, '1.2');
  const runs = await Promise.all([doubtful, running].map(runOf));
  await deployment.worker('2');
  await deployment.makeCurrent('2');
  const drained = await deployment.drain('1');
  const reasons = new Map(drained.map((one) => [one.id, one.outcome === 'held' ? one.reason : one.outcome]));
  expect(reasons.get(doubtful.workflowId)).toBe('call 1.1 (work) is in doubt: resolve it first');
  expect(reasons.get(running.workflowId)).toBe('call 1.1 (work) is running');
  expect(await Promise.all([doubtful, running].map(runOf))).toEqual(runs);
  const of = ['--deployment', deployment.name];
  const { code, out } = await cli('deploy', '--drain', '1', ...of);
  expect(code).toBe(EXIT.waiting);
  expect(out).toContain(`${running.workflowId} is held: call 1.1 (work) is running\n`);
  expect(out).toContain('build 1: 0 moved; 2 held, so its worker is still needed: drain again later');
  const { out: seen } = await cli('doctor', ...of);
  expect(seen.replace(/\s+/g, ' ')).toContain('1 is draining: 2 turns open (1 waiting, 1 in doubt)');
  await resolve(doubtful, { callId: '1.1', resolution: 'did-not' });
  await fixture.open('running');
  for (const [handle, tag] of [
    [doubtful, 'with-doubt'],
    [running, 'with-running'],
  ] as const) {
    await until('what is left to wait', async () => (await openOf(handle))?.count === 1);
    await approve(handle, '1.2');
    await handle.result();
    expect(await fixture.effects(tag)).toHaveLength(1);
  }
  for (const tag of ['doubtful', 'running']) expect(await fixture.effects(tag)).toHaveLength(1);
});

test('a run that a reset made stays on its build: drain and doctor say so, and the record names the run', async () => {
  const deployment = await deploy();
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const [handle] = await waiting(deployment, ['reset']);
  if (handle === undefined) throw new Error('there is one turn');
  const base = await runOf(handle);
  await resetTurn(handle, '--type', 'LastWorkflowTask');
  await waitFor(handle, '1.1');
  const made = await runOf(handle);
  expect(made).not.toBe(base);
  await deployment.worker('2');
  await deployment.makeCurrent('2');
  expect(await deployment.drain('1')).toMatchObject([
    { id: handle.workflowId, outcome: 'held', reason: expect.stringContaining('a reset made this run') },
  ]);
  const { out } = await cli('doctor', '--deployment', deployment.name);
  expect(out.replace(/\s+/g, ' ')).toContain(`A reset keeps ${handle.workflowId} there`);
  await approve(handle);
  await until('its end', async () => (await client.view(handle.workflowId)).status === 'answered');
  expect(await deployment.fixture.effects('reset')).toHaveLength(1);
  const recorder = createRecorder(handle.workflowId);
  const records = (await client.timeline(handle.workflowId)).flatMap((event) => recorder.push(event));
  const at = records.findIndex(({ type }) => type === 'reset');
  expect(records.slice(at).map(({ run }) => run)).toEqual(records.slice(at).map(() => made));
});

test('a tool that is another one on the new build is asked about anew: no decision of before fits', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const [handle] = await waiting(deployment, ['changed']);
  if (handle === undefined) throw new Error('there is one turn');
  const before = await seenOf(handle);
  await deployment.worker('2', { description: 'Saves it elsewhere.' });
  await deployment.makeCurrent('2');
  expect(await deployment.drain('1')).toMatchObject([{ outcome: 'moved' }]);
  await until('the new request', async () => (await seenOf(handle)).seenDigest !== before.seenDigest);
  expect(await openOf(handle)).toMatchObject({ count: 1 });
  expect((await seenOf(handle)).callKey).toBe(before.callKey);
  const [request] = (await client.view(handle.workflowId)).requests;
  expect(request?.preview?.text).toContain('The tool has changed since this was first asked');
  expect(request?.seenDigest).toBe((await seenOf(handle)).seenDigest);
  const approved = { callId: '1.1', decision: 'approved' } as const;
  for (const stale of [{ seenDigest: before.seenDigest }, {}])
    expect(await decide(handle, { ...approved, ...stale })).toMatchObject({ code: 'stale_args' });
  expect(await fixture.effects('changed')).toEqual([]);
  await approve(handle);
  await handle.result();
  expect(await fixture.effects('changed')).toHaveLength(1);
});

test('tools of a queue of their own, and state that calls share, stay with their build and move with the turn', async () => {
  const callsQueue = `calls-${randomUUID()}`;
  const deployment = await deploy({ callsQueue });
  const { fixture } = deployment;
  const first = await deployment.worker('1');
  await deployment.makeCurrent('1');
  const handle = await fixture.startSteps(calls('jot:a'), calls('save:far'), calls('commit:b'));
  await waitFor(handle, '2.1');
  const second = await deployment.worker('2');
  await deployment.makeCurrent('2');
  const other = await fixture.startSteps(calls('note:new'));
  expect((await other.result()).answer).toContain(`in ${second.pid}`);
  const drained = await deployment.drain('1');
  expect(drained).toMatchObject([{ id: handle.workflowId, outcome: 'moved' }]);
  await waitFor(handle, '2.1');
  await approve(handle, '2.1');
  await waitFor(handle, '3.1');
  await approve(handle, '3.1');
  // The first worker is there still, and holds the state.
  expect((await handle.result()).answer).toBe(
    `a in ${first.pid} | save did far in ${second.pid} | a+b in ${first.pid}`,
  );
});

test('a question moves as a request does', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  const first = await deployment.worker('1');
  await deployment.makeCurrent('1');
  const handle = await fixture.startSteps({
    toolCalls: [{ name: 'ask_user', arguments: { question: 'Where to?' } }],
  });
  await waitFor(handle, '1.1', 'question');
  await deployment.worker('2');
  await deployment.makeCurrent('2');
  expect(await deployment.drain('1')).toMatchObject([{ outcome: 'moved' }]);
  await waitFor(handle, '1.1', 'question');
  await first.stop();
  const answer = { callId: '1.1', answer: 'answered', content: { answer: 'Rome' }, approver: 'ann' } as const;
  expect(await client.answer(handle.workflowId, answer)).toMatchObject({ status: 'accepted' });
  expect((await handle.result()).answer).toContain('Rome');
});

test('no worker of the new build is up: what moved stays listed, and takes a decision once one is', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const [handle] = await waiting(deployment, ['gap']);
  if (handle === undefined) throw new Error('there is one turn');
  const second = await deployment.worker('2');
  await deployment.makeCurrent('2');
  await second.stop();
  const before = await openOf(handle);
  expect(await deployment.drain('1')).toMatchObject([{ outcome: 'moved' }]);
  expect(await openOf(handle)).toEqual(before);
  const { seenDigest } = await seenOf(handle);
  await signalDecision(handle, { callId: '1.1', decision: 'approved', approver: 'ann', seenDigest });
  await deployment.worker('2');
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0, requests: 1 } });
  expect(await fixture.effects('gap')).toHaveLength(1);
});

/** The first message has the script of the whole conversation: a call that asks and an answer for each turn. */
const script = (...tags: string[]): string =>
  JSON.stringify(tags.flatMap((tag) => [calls(`save:${tag}`), { text: `saved ${tag}` }]));

test('sessions move between turns, forwards and back: what they remember goes along, and an open request is not lost', async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const { taskQueue } = fixture;
  const open = (): Session => client.session(`s-${randomUUID()}`, { agent: 'crash', taskQueue });
  const turnOf = (session: Session, n: number): TurnHandle =>
    fixture.client.workflow.getHandle(`${session.id}.t${n}`);
  const buildOf = async (id: string): Promise<unknown> => {
    const { raw } = await fixture.client.workflow.getHandle(id).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  };
  const ended = (session: Session, n: number): Promise<unknown> =>
    until(`turn ${n} to end`, async () => (await session.history()).turns[n - 1]?.status === 'answered');
  const [busy, idle] = [open(), open()];
  await busy.send(script('busy-1', 'busy-2', 'busy-3'));
  await idle.send(script('idle-1', 'idle-2'));
  await Promise.all([busy, idle].map((session) => waitFor(turnOf(session, 1), '1.1')));
  await approve(turnOf(idle, 1));
  await ended(idle, 1);
  await deployment.worker('2');
  await deployment.makeCurrent('2');
  const drained = new Map((await deployment.drain('1')).map((one) => [one.id, one]));
  const first = `${busy.id}.t1`;
  expect(drained.get(first)).toMatchObject({ outcome: 'moved' });
  expect(drained.get(idle.id)).toMatchObject({ outcome: 'moved' });
  expect(drained.get(busy.id)).toMatchObject({ outcome: 'held', reason: `its turn ${first} is open` });
  expect(await client.builds(deployment.name)).toMatchObject({ current: '2' });
  await waitFor(turnOf(busy, 1), '1.1');
  await approve(turnOf(busy, 1));
  await ended(busy, 1);
  // It moves by itself when its turn ends.
  await until('the session on build 2', async () => (await buildOf(busy.id)) === '2');
  await busy.send('go on');
  await idle.send('go on');
  for (const session of [busy, idle]) {
    await waitFor(turnOf(session, 2), '1.1');
    expect(await buildOf(`${session.id}.t2`)).toBe('2');
  }
  // And back, with requests open.
  await deployment.makeCurrent('1');
  const back = await deployment.drain('2');
  expect(
    back
      .filter(({ outcome }) => outcome === 'moved')
      .map(({ id }) => id)
      .sort(),
  ).toEqual([`${busy.id}.t2`, `${idle.id}.t2`].sort());
  for (const session of [busy, idle]) {
    await waitFor(turnOf(session, 2), '1.1');
    await approve(turnOf(session, 2));
    await ended(session, 2);
    await until('the session on build 1', async () => (await buildOf(session.id)) === '1');
  }
  await busy.send('go on');
  await waitFor(turnOf(busy, 3), '1.1');
  await approve(turnOf(busy, 3));
  await ended(busy, 3);
  expect((await busy.history()).turns.map(({ answer }) => answer)).toEqual([
    'saved busy-1',
    'saved busy-2',
    'saved busy-3',
  ]);
  for (const tag of ['busy-1', 'busy-2', 'busy-3', 'idle-1', 'idle-2'])
    expect(await fixture.effects(tag)).toHaveLength(1);
});

const buildOf = async (turn: TurnHandle): Promise<string | null | undefined> =>
  (await turn.describe()).raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;

test(`under ${TURNS} sessions with open requests a worker is replaced, forwards and back: nothing is lost or done twice`, async () => {
  const deployment = await deploy();
  const { fixture } = deployment;
  const { taskQueue } = fixture;
  let old = await deployment.worker('1');
  await deployment.makeCurrent('1');
  const tags = tagsOf('load-');
  const sessions = tags.map((): Session =>
    client.session(`s-${randomUUID()}`, { agent: 'crash', taskQueue }),
  );
  const turnsOf = (n: number): TurnHandle[] =>
    sessions.map(({ id }) => fixture.client.workflow.getHandle(`${id}.t${n}`));
  await Promise.all(sessions.map((session, at) => session.send(script(`${tags[at]}1`, `${tags[at]}2`))));
  for (const [n, from, to] of [
    [1, '1', '2'],
    [2, '2', '1'],
  ] as const) {
    const open = turnsOf(n);
    await Promise.all(open.map((turn) => waitFor(turn, '1.1')));
    const next = await deployment.worker(to);
    await deployment.makeCurrent(to);
    await deployment.drain(from);
    await until(
      'every open turn to be on the new build',
      async () => {
        const builds = await Promise.all(open.map(buildOf));
        if (builds.every((build) => build === to)) return true;
        // One that was busy at that moment is left for the next time.
        await all(client.drain({ deployment: deployment.name, build: from }, { spreadMs: 0 }));
        return false;
      },
      120,
    );
    // More is said while the requests are open.
    if (n === 1) await Promise.all(sessions.map((session) => session.send('go on')));
    await Promise.all(open.map((turn) => waitFor(turn, '1.1')));
    await Promise.all(open.map((turn) => approve(turn)));
    await Promise.all(open.map((turn) => turn.result()));
    await until('the sessions to be on the new build', async () => {
      const version = `TemporalWorkerDeploymentVersion = '${deployment.name}:${from}'`;
      const { count } = await fixture.client.workflow.count(`${version} AND ExecutionStatus = 'Running'`);
      return count === 0;
    });
    await old.stop();
    old = next;
  }
  for (const [at, session] of sessions.entries()) {
    const { turns } = await session.history();
    expect(turns.map(({ answer }) => answer)).toEqual([`saved ${tags[at]}1`, `saved ${tags[at]}2`]);
    for (const n of [1, 2]) expect(await fixture.effects(`${tags[at]}${n}`)).toHaveLength(1);
  }
});

test('a build is not drained while it is the current one, or where nobody knows it', async () => {
  const deployment = await deploy();
  await deployment.worker('1');
  await deployment.makeCurrent('1');
  const { name } = deployment;
  await expect(all(client.drain({ deployment: name, build: '1' }))).rejects.toMatchObject({
    code: 'refused',
  });
  await expect(all(client.drain({ deployment: name, build: '7' }))).rejects.toMatchObject({
    code: 'not_found',
  });
  const config = join('deploy', 'agents', 'countersign.config.ts');
  for (const [code, ...args] of [
    [EXIT.notFound, 'deploy', '--drain', '7', '--deployment', name],
    [EXIT.refused, 'deploy', '--drain', '1', '--deployment', name],
    [EXIT.usage, 'deploy', '', '--deployment', name],
    [EXIT.usage, 'worker', config, '--make-current'],
    [EXIT.usage, 'worker', config, '--deployment', name],
  ] as const)
    expect({ args, code: (await cli(...args)).code }).toEqual({ args, code });
  const env = { TEMPORAL_ADDRESS: testAddress() };
  const { err } = await runCliProcess(['worker', config, '--build-id', ''], { env });
  expect(err).toContain('"" cannot be a build id');
  for (const empty of ['', ' '])
    await expect(client.makeCurrent({ deployment: name, build: empty })).rejects.toMatchObject({
      code: 'usage',
    });
  expect(await client.builds(`${name}-other`)).toBeUndefined();
  expect(await client.builds(name)).toMatchObject({
    current: '1',
    builds: [{ build: '1', state: 'current' }],
  });
  expect((await eventsOf(await deployment.fixture.startSteps())).length).toBeGreaterThan(0);
});
