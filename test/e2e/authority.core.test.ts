import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Countersign } from '../../src/client';
import type { Answer } from '../../src/client/types';
import type { Decision } from '../../src/contract/decision';
import type { JsonObject } from '../../src/contract/json';
import { SIGNALS } from '../../src/contract/names';
import { TransportError } from '../../src/tools/errors';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { askUser } from '../../src/tools/builtin/ask-user';
import type { ScriptedStep } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import type { CallView } from '../../src/history/view';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { until } from '../support/until';
import { eventsOf, runNow, waitFor } from '../support/turns';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
let file = '';

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { groups: [finance], mail: anna@example.com }
  bob: { groups: [finance] }
  cleo: { groups: [finance] }
  dana: { groups: [finance] }
  emil: { groups: [finance] }
  lea: { groups: [leads] }
rules:
  - name: signed
    tools: [sign]
    then: ask
    assurance: signed
  - name: late
    tools: [late]
    then: ask
    approvers: { any: [anna] }
    escalate: { after: 2s, to: ['group:leads'] }
  - name: never
    tools: [pay]
    when: has(args.to) && args.to == 'mallory'
    then: refuse
  - name: large
    tools: [pay]
    when: has(args.amount) && args.amount > 500.0
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
  - name: small
    tools: [pay]
    then: ask
    approvers: { any: [anna, bob, dana, emil] }
  - name: doubts
    tools: [lose]
    then: ask
    approvers: { any: [anna, bob] }
  - name: default
    then: by_safety
`;

beforeAll(async () => {
  fixture = await startFixture({});
  file = join(fixture.directory, 'approvers.yaml');
  await writeFile(file, FILE);
  const dangerous = { safety: 'dangerous' } as const;
  const tools = [
    recordTool(effects, { name: 'pay', ...dangerous, effect: 'unsafe' }),
    recordTool(effects, { name: 'sign', ...dangerous, effect: 'unsafe' }),
    recordTool(effects, { name: 'late', ...dangerous }),
    recordTool(effects, { name: 'wipe', ...dangerous }),
    recordTool(effects, { name: 'lose', ...dangerous, effect: 'unsafe' }, () => {
      throw new TransportError('the line broke');
    }),
  ];
  const asking = { instructions: 'do', model: book.model };
  const helper = defineAgent({ ...asking, name: 'helper', tools: [askUser()] });
  const deputy = defineAgent({ ...asking, name: 'deputy', tools });
  const children = [agentTool(helper), agentTool(deputy, dangerous)];
  const clerk = defineAgent({ ...asking, name: 'clerk', tools: [...tools, askUser(), ...children] });
  await fixture.addWorker({}, { agents: [clerk, helper, deputy], approvers: file });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

/** Starts a turn that asks for one call, and waits until it is asked about. */
async function asked(name: string, args: JsonObject, requester = 'rita'): Promise<string> {
  const prompt = book.add({ text: 'I do it.', toolCalls: [{ name, arguments: args }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue, requester });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

const callOf = async (turn: string): Promise<CallView> => {
  const [call] = (await client.view(turn)).calls;
  if (call === undefined) throw new Error('no call');
  return call;
};

async function vote(
  turn: string,
  approver: string,
  decision: Partial<Decision> & Pick<Decision, 'decision'> = { decision: 'approved' },
): Promise<Answer> {
  const { request } = await callOf(turn);
  return client.decide(turn, {
    ...{ callId: '1.1', approver },
    ...(request === undefined ? {} : { seenDigest: request.seenDigest, callKey: request.callKey }),
    ...decision,
  });
}

const verdictOf = (answer: Answer): unknown => (answer.status === 'recorded' ? answer : answer.verdict);
const result = (turn: string): Promise<unknown> => fixture.client.workflow.getHandle(turn).result();

test('a call that needs two people runs once the second one has approved it', async () => {
  const turn = await asked('pay', { tag: 'two', amount: 900 });
  expect((await callOf(turn)).request?.authority).toMatchObject({
    rule: { name: 'large', need: 2 },
    requesters: ['rita'],
  });
  expect(verdictOf(await vote(turn, 'ANNA@example.com'))).toMatchObject({
    accepted: true,
    needs: { approvals: 1, who: ['bob', 'cleo', 'dana', 'emil'] },
  });
  expect(await callOf(turn)).toMatchObject({
    phase: 'request',
    votes: [{ voter: 'anna', decision: 'approved' }],
  });
  expect(verdictOf(await vote(turn, 'anna'))).toMatchObject({ accepted: false, code: 'already_decided' });
  expect(await effects.lines('two')).toEqual([]);
  expect(verdictOf(await vote(turn, 'bob'))).not.toHaveProperty('needs', expect.anything());
  await result(turn);
  expect(await effects.lines('two')).toEqual(['pay two']);
  const events = await client.timeline(turn);
  expect(events.filter(({ type }) => type === 'decision')).toMatchObject([
    { approver: 'ANNA@example.com', stillWaits: true },
    { approver: 'bob' },
  ]);
});

test.each<[string, JsonObject, string, string]>([
  ['somebody whom the rule does not name', { amount: 5 }, 'cleo', 'is not named by the rule'],
  ['somebody who is not in the file', { amount: 5 }, 'mallory', 'is not named by the rule'],
  ['who asked for the turn', { amount: 900 }, 'cleo', 'asked for the turn'],
])('%s may not decide, nor deny', async (_, args, approver, why) => {
  const turn = await asked('pay', { tag: 'not-allowed', ...args }, 'cleo');
  for (const decision of ['approved', 'denied'] as const) {
    const verdict = verdictOf(await vote(turn, approver, { decision }));
    expect(verdict).toMatchObject({ accepted: false, code: 'not_allowed' });
    expect(JSON.stringify(verdict)).toContain(why);
    expect(JSON.stringify(verdict)).toMatch(/these may: (anna, )?bob/);
  }
  expect((await callOf(turn)).phase).toBe('request');
  expect(await effects.lines('not-allowed')).toEqual([]);
});

test('a file lets nobody else decide calls that no rule names', async () => {
  const turn = await asked('wipe', { tag: 'default' });
  expect(verdictOf(await vote(turn, 'mallory'))).toMatchObject({ code: 'not_allowed' });
  await vote(turn, 'lea');
  await result(turn);
  expect(await effects.lines('default')).toEqual(['wipe default']);
});

test('a rule refuses a call before anybody is asked', async () => {
  const prompt = book.add(
    { toolCalls: [{ name: 'pay', arguments: { tag: 'refused', to: 'mallory' } }] },
    { text: 'done' },
  );
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await result(turn);
  expect((await callOf(turn)).result).toMatchObject({ error: { code: 'refused' } });
  expect(await effects.lines('refused')).toEqual([]);
});

test('an edit leaves neither the rule it was under, nor escapes the one it comes under', async () => {
  const turn = await asked('pay', { tag: 'edited', amount: 10 });
  const edit = { decision: 'modified', arguments: { tag: 'edited', amount: 900 } } as const;
  expect(verdictOf(await vote(turn, 'bob', edit))).toMatchObject({ asksAgain: true });
  await until('it to be so', async () => (await callOf(turn)).request?.authority?.rule.name === 'large');
  // Who edits a call approves no edit of their own.
  expect(verdictOf(await vote(turn, 'bob'))).toMatchObject({ code: 'not_allowed' });
  expect(verdictOf(await vote(turn, 'anna'))).toMatchObject({
    needs: { approvals: 1, who: ['dana', 'emil'] },
  });
  expect(await effects.lines('edited')).toEqual([]);
  // Cleo may decide large refunds, and not small ones: the request is under both rules.
  expect(verdictOf(await vote(turn, 'cleo'))).toMatchObject({ code: 'not_allowed' });
  const back = { decision: 'modified', arguments: { tag: 'edited', amount: 10 } } as const;
  expect(verdictOf(await vote(turn, 'anna', back))).toMatchObject({ asksAgain: true });
  await until('it to be so', async () => (await callOf(turn)).request?.arguments['amount'] === 10);
  expect((await callOf(turn)).votes).toEqual([]);
  expect(verdictOf(await vote(turn, 'dana'))).toMatchObject({ needs: { approvals: 1, who: ['emil'] } });
  await vote(turn, 'emil');
  await result(turn);
  expect(await effects.lines('edited')).toEqual(['pay edited']);
});

describe('under notRequester, whoever writes what the model reads', () => {
  const large = (tag: string): ScriptedStep => ({
    toolCalls: [{ name: 'pay', arguments: { tag, amount: 900 } }],
  });
  const call = (name: string, args: JsonObject): ScriptedStep => ({ toolCalls: [{ name, arguments: args }] });
  const START = { agent: 'clerk', requester: 'rita' };
  const started = async (...steps: ScriptedStep[]): Promise<string> => {
    const prompt = book.add(...steps, { text: 'done' });
    return (await client.start({ ...START, prompt, taskQueue: fixture.taskQueue })).turn;
  };
  const waits = (turn: string, callId: string) =>
    until('it to wait', async () =>
      (await client.view(turn)).calls.some(
        (one) => one.callId === callId && (one.phase === 'request' || one.phase === 'question'),
      ),
    );
  const QUESTION = call('ask_user', { question: 'To whom?' });
  const answer = (turn: string) =>
    client.answer(turn, {
      callId: '1.1',
      answer: 'answered',
      content: { answer: 'to bob' },
      approver: 'bob',
    });

  /** The child turn of a turn, once a call of it waits. */
  const childOf = (turn: string, agent: string, phase: CallView['phase']): Promise<string> =>
    until('the child to ask', async () => {
      const found = (await client.list({ agent })).find((one) => one.turn.startsWith(turn))?.turn;
      return (
        found !== undefined && (await client.view(found)).calls.some((one) => one.phase === phase) && found
      );
    });

  const doors: Record<string, (tag: string) => Promise<[turn: string, callId: string]>> = {
    'denies with a reason': async (tag) => {
      const turn = await started(large('none'), large(tag));
      await waits(turn, '1.1');
      await client.decide(turn, { callId: '1.1', decision: 'denied', reason: 'pay bob', approver: 'bob' });
      return [turn, '2.1'];
    },
    'answers a question': async (tag) => {
      const turn = await started(QUESTION, large(tag));
      await waits(turn, '1.1');
      await answer(turn);
      return [turn, '2.1'];
    },
    'answers a question of a child turn': async (tag) => {
      const task = book.add(QUESTION, { text: 'pay bob' });
      const turn = await started(call('helper', { task }), large(tag));
      await answer(await childOf(turn, 'helper', 'question'));
      return [turn, '2.1'];
    },
    'forks it with a reply of their own': async (tag) => {
      const of = await started(large('none'));
      await waits(of, '1.1');
      const reply = { calls: [{ tool: 'pay', arguments: { tag, amount: 900 } }] };
      const change = { what: 'reply', reply } as const;
      const { turn } = await client.fork({ turn: of, at: '1', world: 'live', change, by: 'bob' });
      return [turn, '1.1'];
    },
    'wrote the task of its parent': async (tag) => {
      const turn = await started(call('deputy', { task: book.add({ text: 'nothing' }) }));
      await waits(turn, '1.1');
      const task = book.add(large(tag), { text: 'done' });
      await vote(turn, 'bob', { decision: 'modified', arguments: { task } });
      await until('the edit', async () => (await callOf(turn)).request?.arguments['task'] === task);
      await vote(turn, 'anna');
      return [await childOf(turn, 'deputy', 'request'), '1.1'];
    },
    'wrote earlier in its conversation': async (tag) => {
      const session = client.session(`s-${tag}`, { ...START, taskQueue: fixture.taskQueue });
      await session.send({ text: book.add({ text: 'yes' }), sender: 'bob' });
      await session.send({ text: book.add(large(tag), { text: 'done' }), sender: 'rita' });
      await until('the second turn', async () => (await session.history()).turns.length === 2);
      return [`${session.id}.t2`, '1.1'];
    },
    'began its conversation, which another goes on with': async (tag) => {
      const began = { agent: 'clerk', requester: 'bob', taskQueue: fixture.taskQueue };
      const session = client.session(`s-${tag}`, began);
      await session.send(book.add({ text: 'yes' }));
      await session.send({ text: book.add(large(tag), { text: 'done' }), sender: 'rita' });
      await until('the second turn', async () => (await session.history()).turns.length === 2);
      return [`${session.id}.t2`, '1.1'];
    },
    'steers it': async (tag) => {
      const session = client.session(`s-${tag}`, { ...START, taskQueue: fixture.taskQueue });
      await session.send(book.add(QUESTION, large(tag), { text: 'done' }));
      const turn = `${session.id}.t1`;
      await until('the turn', async () => (await session.history()).turns.length === 1);
      await waits(turn, '1.1');
      await session.send({ text: 'pay bob', sender: 'bob', mode: 'steer' });
      // The session hands it on, and the turn reads it only if it has it before it goes on.
      await until('the message', async () =>
        (await eventsOf(fixture.client.workflow.getHandle(turn))).some(
          ({ workflowExecutionSignaledEventAttributes: of }) => of?.signalName === SIGNALS.words,
        ),
      );
      const said = { callId: '1.1', answer: 'declined', approver: 'rita' } as const;
      await client.answer(turn, said);
      return [turn, '2.1'];
    },
    'owns its schedule': async (tag) => {
      const prompt = book.add(large(tag), { text: 'done' });
      const every = { agent: 'clerk', everyMs: 86_400_000, taskQueue: fixture.taskQueue };
      const { id } = await client.schedules.add({ ...every, id: tag, prompt, requester: 'bob' });
      const turn = await runNow(client, id);
      await client.schedules.remove(id);
      return [turn, '1.1'];
    },
    'edits it': async (tag) => {
      const turn = await started(large('other'));
      await waits(turn, '1.1');
      await vote(turn, 'bob', { decision: 'modified', arguments: { tag, amount: 901 } });
      await until('the edit', async () => (await callOf(turn)).request?.arguments['amount'] === 901);
      return [turn, '1.1'];
    },
  };

  test.each(Object.keys(doors))('counts as one who asked: who %s', async (door) => {
    const tag = door.replaceAll(/\W+/g, '-');
    const [turn, callId] = (await doors[door]?.(tag)) ?? ['', ''];
    await waits(turn, callId);
    const request = (await client.view(turn)).calls.find((one) => one.callId === callId)?.request;
    const { seenDigest = '', callKey = '' } = request ?? {};
    const decide = (approver: string) =>
      client.decide(turn, { callId, decision: 'approved', approver, seenDigest, callKey });
    expect(verdictOf(await decide('bob'))).toMatchObject({
      code: 'not_allowed',
      message: expect.stringContaining('asked for the turn'),
    });
    await decide('anna');
    await decide('cleo');
    await until('it to run', async () => (await effects.lines(tag)).length === 1);
  });
});

test('one denial blocks; a vote can be taken back until then', async () => {
  const turn = await asked('pay', { tag: 'denied', amount: 900 });
  await vote(turn, 'anna');
  expect(verdictOf(await vote(turn, 'bob', { decision: 'withdrawn' }))).toMatchObject({ code: 'malformed' });
  expect(verdictOf(await vote(turn, 'anna', { decision: 'withdrawn' }))).toMatchObject({
    needs: { approvals: 2, who: ['anna', 'bob', 'cleo', 'dana', 'emil'] },
  });
  expect((await callOf(turn)).votes).toEqual([]);
  await vote(turn, 'bob');
  await vote(turn, 'anna', { decision: 'denied', reason: 'too much' });
  await result(turn);
  expect((await callOf(turn)).result).toMatchObject({ error: { code: 'denied' } });
  expect(await effects.lines('denied')).toEqual([]);
});

test('a vote that is only claimed does not start what wants signed ones, and the request waits again', async () => {
  const turn = await asked('sign', { tag: 'claimed' });
  await vote(turn, 'anna', { decision: 'approved', channel: 'web', authenticated: true });
  await until('it to be so', async () => (await callOf(turn)).request?.note !== undefined);
  expect(await callOf(turn)).toMatchObject({ phase: 'request', votes: [], request: { note: /claimed/ } });
  const events = await client.timeline(turn);
  expect(events.find(({ type }) => type === 'decision_void')).toMatchObject({ struck: ['anna'] });
  expect(await effects.lines('claimed')).toEqual([]);
});

test('those whom a rule names for it may decide what nobody decided in time', async () => {
  const turn = await asked('late', { tag: 'late' });
  expect(verdictOf(await vote(turn, 'lea'))).toMatchObject({ code: 'not_allowed' });
  await until('it to be so', async () => (await callOf(turn)).isEscalated === true);
  await vote(turn, 'lea');
  await result(turn);
  const types = (await client.timeline(turn)).map(({ type }) => type);
  expect(types).toContain('request_escalated');
  expect(await effects.lines('late')).toEqual(['late late']);
});

test('only those whom the rule names give a call in doubt up, also by a signal of their own', async () => {
  const turn = await asked('lose', { tag: 'given-up' });
  await vote(turn, 'anna');
  await until('the doubt', async () => (await callOf(turn)).phase === 'in_doubt');
  await expect(client.abandon(turn, { approver: 'cleo' })).rejects.toMatchObject({
    code: 'not_allowed',
    message: expect.stringMatching(/cleo may not give up .*these may: anna, bob$/),
  });
  expect((await client.view(turn)).cancelRequested).toBe(false);
  const handle = fixture.client.workflow.getHandle(turn);
  await client.cancel(turn);
  await handle.signal('abandon', { approver: 'cleo' });
  await handle.signal('abandon', 'not an abandonment');
  await until('the note', async () =>
    (await client.inbox({ tool: 'lose', limit: Infinity })).some(({ note }) =>
      note?.startsWith('not given up: '),
    ),
  );
  expect((await handle.describe()).status.name).toBe('RUNNING');
  expect((await callOf(turn)).phase).toBe('in_doubt');
  await client.abandon(turn, { approver: 'bob', reason: 'nobody can tell' });
  await expect(handle.result()).rejects.toThrow();
  expect((await callOf(turn)).result?.content).toContain('bob ended the turn with this call in doubt');
});

describe('when the file changes while a request waits', () => {
  afterEach(() => writeFile(file, FILE));

  test('it tightens: who is gone does not count, and who is left need not vote again', async () => {
    const turn = await asked('pay', { tag: 'tightened', amount: 900 });
    await vote(turn, 'bob');
    await writeFile(file, FILE.replace('  bob: { groups: [finance] }', '  bob: { groups: [leads] }'));
    // The worker looks at its file at most once a second.
    await until('it to be so', async () => {
      const probe = await asked('pay', { tag: 'probe', amount: 900 });
      return (await callOf(probe)).request?.authority?.people?.some(({ name }) => name === 'bob') === false;
    });
    await vote(turn, 'anna');
    await until('it to be so', async () => (await callOf(turn)).request?.note !== undefined);
    expect(await callOf(turn)).toMatchObject({ votes: [{ voter: 'anna', decision: 'approved' }] });
    expect(await effects.lines('tightened')).toEqual([]);
    await vote(turn, 'cleo');
    await result(turn);
    expect(await effects.lines('tightened')).toEqual(['pay tightened']);
  });

  test('it never loosens: a request keeps the number that it was asked with', async () => {
    const turn = await asked('pay', { tag: 'loosened', amount: 900 });
    await writeFile(file, FILE.replace('need: 2', 'need: 1'));
    await until('it to be so', async () => {
      const probe = await asked('pay', { tag: 'probe', amount: 900 });
      return (await callOf(probe)).request?.authority?.rule.need === 1;
    });
    expect(verdictOf(await vote(turn, 'anna'))).toMatchObject({ needs: { approvals: 1 } });
    expect(await effects.lines('loosened')).toEqual([]);
  });

  test('a file with a mistake changes nothing', async () => {
    await writeFile(file, 'rules: [');
    const turn = await asked('pay', { tag: 'broken', amount: 900 });
    expect((await callOf(turn)).request?.authority?.rule.name).toBe('large');
  });
});
