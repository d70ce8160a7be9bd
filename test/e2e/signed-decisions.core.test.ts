import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { openInboxKey } from '../../src/authority/signatures/inbox-key';
import { signStatement } from '../../src/authority/signatures/sign-with-ssh';
import {
  readStatement,
  type SignedCallFacts,
  type Statement,
  statementText,
} from '../../src/authority/signatures/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/signatures/facts-to-sign';
import { connect, type Countersign } from '../../src/client';
import type { Answer } from '../../src/client/types';
import type { CallInput } from '../../src/contract/call';
import type { JsonObject } from '../../src/contract/json';
import type { Decision, VoteSignature } from '../../src/contract/decision';
import type { CallView } from '../../src/history/view';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { planTool } from '../support/plan-tool';
import { scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { sshKeygen } from '../support/ssh';
import { resetTurn } from '../support/operator';
import { taskBefore } from '../support/resets';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { WITHOUT_THREADS } from '../support/worker-here';
import { needs } from '../support/parts';
import type { Authority, Vote } from '../../src/contract/authority';

type InboxKey = Awaited<ReturnType<typeof openInboxKey>>;

needs('ssh');

const effects = useEffects();
const book = scriptBook();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
let fixture: Fixture;
let client: Countersign;
let keys = '';
let inbox: InboxKey;

const publicLine = (name: string): string => readFileSync(join(keys, `${name}.pub`), 'utf8').trim();

const approversFile = (): string => `
installation: '${INSTALLATION}'
people:
  anna: { groups: [finance], keys: ['${publicLine('anna')}'] }
  bob: { groups: [finance], keys: ['${publicLine('bob')}'] }
  eve: { keys: ['${publicLine('eve')}'] }
inboxKeys: ['${inbox.line}']
rules:
  - name: own key
    tools: [pay, helper, lose]
    then: ask
    approvers: { any: [anna] }
    assurance: signed_ssh
  - name: two keys
    tools: [wire, propose_lines]
    then: ask
    approvers: { any: ['group:finance'], need: 2 }
    assurance: signed
  - name: at the inbox
    tools: [note]
    then: ask
    assurance: signed_in
  - name: default
    then: by_safety
`;

beforeAll(async () => {
  fixture = await startFixture({});
  keys = join(fixture.directory, 'keys');
  await mkdir(keys);
  for (const name of ['anna', 'bob', 'eve', 'mallory'])
    sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(keys, name)]);
  inbox = await openInboxKey(join(keys, 'inbox.pem'));
  const approvers = join(fixture.directory, 'approvers.yaml');
  await writeFile(approvers, approversFile());
  const dangerous = { safety: 'dangerous' } as const;
  const tools = [
    recordTool(effects, { name: 'pay', ...dangerous, effect: 'idempotent' }),
    recordTool(effects, { name: 'wire', ...dangerous, effect: 'unsafe' }),
    recordTool(effects, { name: 'note', ...dangerous, effect: 'unsafe' }),
    recordTool(effects, { name: 'lose', ...dangerous, effect: 'unsafe' }, () => {
      throw new TransportError('the answer was lost');
    }),
  ];
  const helper = defineAgent({ name: 'helper', instructions: 'do', model: book.model, tools: [] });
  const clerk = defineAgent({
    ...{ name: 'clerk', instructions: 'do', model: book.model },
    tools: [...tools, planTool(effects), agentTool(helper, { safety: 'dangerous' })],
  });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

/** Starts a turn that asks for one call, and waits until it is asked about. */
async function asked(name: string, tag: string, more: JsonObject = {}): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag, ...more } }] }, { text: 'done' });
  const { turn } = await client.start({
    ...{ agent: 'clerk', prompt, taskQueue: fixture.taskQueue, requester: 'rita' },
  });
  await waitFor(handleOf(turn), '1.1');
  return turn;
}

const handleOf = (turn: string): TurnHandle => fixture.client.workflow.getHandle(turn);

const callOf = async (turn: string): Promise<CallView> => {
  const [call] = (await client.view(turn)).calls;
  if (call === undefined) throw new Error('no call');
  return call;
};

const factsOf = async (turn: string): Promise<SignedCallFacts> => {
  const place = client.placeOf(await client.view(turn));
  const facts = factsToSign({ agent: 'clerk' }, await callOf(turn), { installation: INSTALLATION, ...place });
  if (facts === undefined) throw new Error('nothing to sign');
  return facts;
};

/** What somebody would sign to approve a call, as it is shown. */
async function statementOn(
  turn: string,
  approver = 'anna',
  more: Partial<Statement> = {},
): Promise<Statement> {
  const { requesters, ...facts } = await factsOf(turn);
  const said = { decision: 'approved', reason: '', approver } as const;
  const times = timesToSign(await callOf(turn), Date.now());
  const decisionId = `signed-${randomUUID()}`;
  const asked = { requesters: [...(requesters ?? [])], decisionId };
  return { v: 3, ...facts, ...asked, ...said, ...times, ...more };
}

/** Signs with OpenSSH's own program. */
async function sign(statement: Statement, key: string = statement.approver): Promise<VoteSignature> {
  const { armored } = await signStatement(statement, { keyFile: join(keys, key) });
  return signatureOf('ssh', armored, { ...statement, text: statementText(statement) });
}

async function approve(
  turn: string,
  signature?: VoteSignature,
  more: Partial<Decision> = {},
): Promise<Answer> {
  const { request } = await callOf(turn);
  if (request === undefined) throw new Error('no request');
  const { seenDigest, callKey } = request;
  const said = { callId: '1.1', approver: 'anna', decision: 'approved', seenDigest, callKey } as const;
  return client.decide(turn, { ...said, ...sentWith(signature), ...more });
}

/** A signature, with the id of the message that it is over. */
function sentWith(signature: VoteSignature | undefined): Pick<Decision, 'signature' | 'decisionId'> {
  if (signature === undefined) return {};
  const { decisionId } = readStatement(signature.statement ?? '') ?? {};
  return { signature, ...(decisionId === undefined ? {} : { decisionId }) };
}

/** Waits until a vote is struck; why it is. */
async function struck(turn: string, voter = 'anna', left: string[] = []): Promise<string> {
  await until('it to be asked about again', async () => (await callOf(turn)).request?.note !== undefined);
  const events = await client.timeline(turn);
  expect(events.findLast(({ type }) => type === 'decision_void')).toMatchObject({ struck: [voter] });
  const call = await callOf(turn);
  expect(call).toMatchObject({ phase: 'request', votes: left.map((name) => ({ voter: name })) });
  return call.request?.note ?? '';
}

const isDone = async (turn: string): Promise<unknown> => handleOf(turn).result();

test('a call runs by the signature of a key that the file has for its approver', async () => {
  const turn = await asked('pay', 'signed');
  await approve(turn, await sign(await statementOn(turn)));
  await isDone(turn);
  expect(await effects.lines('signed')).toEqual(['pay signed']);
  const call = await callOf(turn);
  expect(call.votes).toEqual([
    { voter: 'anna', decision: 'approved', signedBy: 'ssh', at: expect.any(String) },
  ]);
});

test('the record of a call that starts a child turn has the keys by which its signatures counted', async () => {
  const task = book.add({ text: 'all is well' });
  const prompt = book.add({ toolCalls: [{ name: 'helper', arguments: { task } }] }, { text: 'done' });
  const { turn } = await client.start({
    ...{ agent: 'clerk', prompt, taskQueue: fixture.taskQueue, requester: 'rita' },
  });
  await waitFor(handleOf(turn), '1.1');
  await approve(turn, await sign(await statementOn(turn)));
  await isDone(turn);
  const ended = (await client.timeline(turn)).find(({ type }) => type === 'call_ended');
  expect(ended).toMatchObject({
    result: { success: true, content: 'all is well' },
    roster: { lines: [{ person: 'anna', line: publicLine('anna') }] },
  });
});

test('two sign, each with their own key; the signature of one is kept where that of the other does not count', async () => {
  const turn = await asked('wire', 'two');
  await approve(turn, await sign(await statementOn(turn)));
  await approve(turn, await sign(await statementOn(turn, 'bob'), 'mallory'), { approver: 'bob' });
  await until('it to be asked about again', async () => (await callOf(turn)).request?.note !== undefined);
  expect(await callOf(turn)).toMatchObject({ votes: [{ voter: 'anna', signedBy: 'ssh' }] });
  expect(await effects.lines('two')).toEqual([]);
  await approve(turn, await sign(await statementOn(turn, 'bob')), { approver: 'bob' });
  await isDone(turn);
  expect(await effects.lines('two')).toEqual(['wire two']);
});

test('two sign the same hunks of a proposal, and only those run', async () => {
  const turn = await asked('propose_lines', 'chosen', { lines: ['one', 'two', 'three'] });
  const vote = async (approver: string, hunks: string[], over = hunks): Promise<Answer> =>
    approve(turn, await sign(await statementOn(turn, approver, { hunks: over })), { approver, hunks });
  await vote('anna', ['1', '3']);
  expect(await vote('bob', ['2'])).toMatchObject({
    status: 'refused',
    verdict: { code: 'malformed', message: expect.stringMatching(/anna approved hunks 1, 3/) },
  });
  // The signature is over other hunks than the decision names.
  await vote('bob', ['1', '3'], ['1']);
  expect(await struck(turn, 'bob', ['anna'])).toMatch(/something else than what was signed/);
  await vote('bob', ['3', '1'], ['1', '3']);
  await isDone(turn);
  expect(await effects.lines('chosen')).toEqual(['propose_lines chosen +one+three']);
});

/** What a signature is over, or by which key, where that is not what it has to be. */
const FORGERIES: [what: string, changed: Partial<Statement>, why: RegExp, key?: string][] = [
  ['of another installation', { installation: 'ab'.repeat(16) }, /another installation/],
  ['of another namespace', { namespace: 'other' }, /another namespace or cluster/],
  ['of another turn', { workflowId: 'other' }, /another turn/],
  ['of another run', { runId: randomUUID() }, /another run of this turn/],
  ['of another call', { callKey: 'other:1.1' }, /another call/],
  ['of another generation', { generation: 1 }, /earlier or later run of this call/],
  ['of another agent', { agent: 'other' }, /another call/],
  ['of another tool', { tool: 'wire' }, /another call/],
  ['of another version of the tool', { toolDigest: 'a'.repeat(64) }, /another version of the tool/],
  ['of another preview', { seenDigest: 'a'.repeat(64) }, /other arguments/],
  ['of other arguments', { effectiveDigest: 'a'.repeat(64) }, /other arguments/],
  ['under another rule', { ruleDigest: 'a'.repeat(64) }, /another rule/],
  ['for other requesters', { requesters: ['somebody'] }, /other people/],
  ['of a denial', { decision: 'denied' }, /something else than what was signed/],
  ['of running it again', { decision: 'run-again' }, /something else than what was signed/],
  ['with another reason', { reason: 'other' }, /something else than what was signed/],
  ['of another person', { approver: 'bob' }, /something else than what was signed/],
  ['by the key of another person', {}, /somebody else's key/, 'bob'],
  ['by a key that is not in the file', {}, /not, or no longer, one of this person's/, 'mallory'],
];

test.each(FORGERIES)('a signature does not count: %s', async (what, changed, why, key = 'anna') => {
  const turn = await asked('pay', `forged ${what}`);
  await approve(turn, await sign(await statementOn(turn, 'anna', changed), key));
  expect(await struck(turn)).toMatch(why);
  expect(await effects.lines(`forged ${what}`)).toEqual([]);
  await approve(turn, await sign(await statementOn(turn)));
  await isDone(turn);
  expect(await effects.lines(`forged ${what}`)).toEqual([`pay forged ${what}`]);
});

const HOUR = 3_600_000;
const iso = (ms: number): string => new Date(Date.now() + ms).toISOString();

test.each<[string, (turn: string) => Promise<VoteSignature | undefined>, RegExp]>([
  ['none', async () => undefined, /it is claimed, and the rule wants it signed ssh/],
  [
    'one that has expired',
    async (turn) => sign(await statementOn(turn, 'anna', { at: iso(-3 * HOUR), notAfter: iso(-HOUR) })),
    /it has expired/,
  ],
  [
    'one from the future',
    async (turn) => sign(await statementOn(turn, 'anna', { at: iso(HOUR), notAfter: iso(2 * HOUR) })),
    /more than 10 minutes in the future/,
  ],
  [
    'one whose time was changed afterwards',
    async (turn) => ({ ...(await sign(await statementOn(turn))), notAfter: iso(999 * HOUR) }),
    /something else than what was signed/,
  ],
  [
    'one for Git',
    async (turn) => {
      const text = statementText(await statementOn(turn));
      const armored = sshKeygen(['-Y', 'sign', '-n', 'git', '-f', join(keys, 'anna')], text);
      return { ...(await sign(await statementOn(turn))), armored };
    },
    /for something else than Countersign/,
  ],
  [
    'text that is no signature',
    async (turn) => ({ ...(await sign(await statementOn(turn))), armored: 'yes' }),
    /the vote or its signature is not in its form/,
  ],
  [
    "the web inbox's, where a person's own is wanted",
    async (turn) => {
      const statement = await statementOn(turn);
      return signatureOf('inbox', inbox.sign(statement), { ...statement, text: statementText(statement) });
    },
    /it is signed in, and the rule wants it signed ssh/,
  ],
  [
    "the web inbox's, given out as a person's",
    async (turn) => {
      const statement = await statementOn(turn);
      return signatureOf('ssh', inbox.sign(statement), { ...statement, text: statementText(statement) });
    },
    /for something else than Countersign/,
  ],
])('this does not count: %s', async (what, made, why) => {
  const turn = await asked('pay', `bad ${what}`);
  await approve(turn, await made(turn), { channel: 'web', authenticated: true });
  expect(await struck(turn)).toMatch(why);
  expect(await effects.lines(`bad ${what}`)).toEqual([]);
});

test('a decision that was signed for one turn starts nothing in another', async () => {
  const first = await asked('pay', 'copied');
  const signature = await sign(await statementOn(first));
  const second = await asked('pay', 'copied');
  await handleOf(second).signal('approval', {
    ...{ callId: '1.1', approver: 'anna', decision: 'approved', signature },
    seenDigest: (await callOf(second)).request?.seenDigest,
  });
  expect(await struck(second)).toMatch(/another turn/);
  expect(await effects.lines('copied')).toEqual([]);
});

test('a signature is for one run: sent again after a reset it starts nothing, in each run; signing anew does', async () => {
  const turn = await asked('pay', 'reset');
  const signature = await sign(await statementOn(turn));
  const first = (await handleOf(turn).describe()).runId;
  await approve(turn, signature);
  await isDone(turn);
  const eventId = await taskBefore(handleOf(turn), 'pay');
  for (const under of [sentWith(signature).decisionId, randomUUID()]) {
    await resetTurn(handleOf(turn), '--run-id', first, '--event-id', eventId, '--reapply-exclude', 'All');
    await waitFor(handleOf(turn), '1.1');
    await approve(turn, signature, under === undefined ? {} : { decisionId: under });
    expect(await struck(turn)).toMatch(/another run of this turn/);
  }
  expect(await effects.lines('reset')).toEqual(['pay reset']);
  await approve(turn, await sign(await statementOn(turn)));
  await isDone(turn);
  expect(await effects.lines('reset')).toEqual(['pay reset', 'pay reset']);
});

test('a vote that its voter took back stays gone, whoever sends the message once more', async () => {
  const turn = await asked('wire', 'withdrawn');
  const signature = await sign(await statementOn(turn));
  await approve(turn, signature);
  await approve(turn, undefined, { decision: 'withdrawn' });
  expect(await approve(turn, signature)).toMatchObject({ status: 'accepted' });
  expect((await callOf(turn)).votes).toEqual([]);
  await approve(turn, signature, { decisionId: randomUUID() });
  await approve(turn, await sign(await statementOn(turn, 'bob')), { approver: 'bob' });
  expect(await struck(turn, 'anna', ['bob'])).toMatch(/something else than what was signed/);
  expect(await effects.lines('withdrawn')).toEqual([]);
});

test('a signed message goes only to the run that it names', async () => {
  const turn = await asked('pay', 'left');
  const { runId } = await handleOf(turn).describe();
  const signature = await sign(await statementOn(turn));
  await resetTurn(handleOf(turn), '--type', 'LastWorkflowTask');
  await waitFor(handleOf(turn), '1.1');
  expect(await approve(turn, signature, { runId })).toMatchObject({
    status: 'refused',
    verdict: { code: 'stale_args', message: expect.stringMatching(/goes on in another run/) },
  });
  expect((await callOf(turn)).votes).toEqual([]);
  await approve(turn, await sign(await statementOn(turn)), {
    runId: (await handleOf(turn).describe()).runId,
  });
  await isDone(turn);
  expect(await effects.lines('left')).toEqual(['pay left']);
});

test('running a call in doubt again takes a signature that says so', async () => {
  const turn = await asked('lose', 'once more');
  await approve(turn, await sign(await statementOn(turn)));
  await until('it to be in doubt', async () => (await callOf(turn)).phase === 'in_doubt');
  const again = { callId: '1.1', resolution: 'run-again', approver: 'anna' } as const;
  const resolve = async (more: Partial<Statement>): Promise<unknown> =>
    client.resolve(turn, { ...again, ...sentWith(await sign(await statementOn(turn, 'anna', more))) });
  await resolve({});
  expect(await struck(turn)).toMatch(/something else than what was signed/);
  expect(await effects.lines('once more')).toEqual(['lose once more']);
});

test("the web inbox's own signature says who was signed in", async () => {
  const turn = await asked('note', 'at the inbox');
  const statement = await statementOn(turn);
  const signed = { ...statement, text: statementText(statement) };
  await approve(turn, signatureOf('inbox', inbox.sign(statement), signed));
  await isDone(turn);
  expect(await effects.lines('at the inbox')).toEqual(['note at the inbox']);
});

test('who only says that they were signed in, was not', async () => {
  const turn = await asked('note', 'said so');
  await approve(turn, undefined, { channel: 'web', authenticated: true });
  expect(await struck(turn)).toMatch(/it is claimed, and the rule wants it signed in/);
  expect(await effects.lines('said so')).toEqual([]);
});

describe('a workflow of somebody who may do everything on Temporal', () => {
  let worker: Worker;
  let connection: NativeConnection;
  let working: Promise<void>;
  const taskQueue = `rogue-${randomUUID()}`;
  beforeAll(async () => {
    connection = await NativeConnection.connect({ address: testAddress() });
    const workflowsPath = require.resolve('../fixtures/rogue-workflows.ts');
    worker = await Worker.create({ connection, taskQueue, workflowsPath, ...WITHOUT_THREADS });
    working = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await working;
    await connection.close();
  });

  /** Starts it, and has it start the call of a turn, so often, by what somebody signed. */
  async function start(
    turn: string,
    signer: (own: Partial<Statement>) => Promise<Vote>,
    { count = 1, ...more }: Partial<CallInput> & { count?: number } = {},
  ) {
    const call = await callOf(turn);
    const facts = await factsOf(turn);
    const args = [fixture.taskQueue, count];
    const handle = await fixture.client.workflow.start('rogue', {
      ...{ workflowId: `rogue-${randomUUID()}`, taskQueue, args },
    });
    const { workflowId, firstExecutionRunId: runId } = handle;
    const { seenDigest } = facts;
    const votes = [await signer({ workflowId, runId })];
    const input: CallInput = {
      ...{ callId: '1.1', id: 'i', tool: 'pay', agent: 'clerk', callKey: facts.callKey, generation: 0 },
      ...{ arguments: call.effective, argsDigest: facts.effectiveDigest, toolDigest: facts.toolDigest },
      ...{ effect: 'idempotent', timeoutMs: 30_000, originalRunId: runId },
      decision: { decisionId: 'd', decision: 'approved', approver: 'anna', seenDigest, votes },
      origin: { requester: 'rita' },
      ...more,
    };
    await handle.signal('call', input);
    return handle.result();
  }

  const voteBy = async (statement: Statement, key?: string): Promise<Vote> => {
    const { seenDigest, at } = statement;
    const signature = await sign(statement, key);
    const { approver: voter, decisionId } = statement;
    return { voter, decision: 'approved', decisionId, at, seenDigest, signature };
  };

  test('starts nothing by what was signed for another turn', async () => {
    const turn = await asked('pay', 'rogue');
    const outputs = await start(turn, async () => voteBy(await statementOn(turn)));
    expect(outputs).toMatchObject([{ struck: ['anna'], askAgain: expect.stringMatching(/another turn/) }]);
    expect(await effects.lines('rogue')).toEqual([]);
  });

  test('starts nothing by the signature of somebody whom only its own escalation names', async () => {
    const turn = await asked('pay', 'rogue escalation');
    const asks = (await callOf(turn)).request?.authority;
    if (asks === undefined) throw new Error('nobody decides');
    const rule = { ...asks.rule, escalate: { afterMs: 1, to: ['eve'] } };
    const authority: Authority = { ...asks, rule, requesters: ['eve'], escalated: true };
    const outputs = await start(
      turn,
      async (own) => voteBy(await statementOn(turn, 'eve', { ...own, requesters: ['eve', 'rita'] })),
      { authority },
    );
    expect(outputs).toMatchObject([
      { struck: ['eve'], askAgain: expect.stringMatching(/eve is not named by the rule/) },
    ]);
    expect(await effects.lines('rogue escalation')).toEqual([]);
  });

  test('starts a call once, where its approver signed for this very workflow', async () => {
    const turn = await asked('pay', 'rogue twice');
    const outputs = await start(turn, async (own) => voteBy(await statementOn(turn, 'anna', own)), {
      count: 2,
    });
    expect(outputs).toMatchObject([
      { result: { success: true } },
      { inDoubt: { message: expect.stringMatching(/it was scheduled before/) } },
    ]);
    expect(await effects.lines('rogue twice')).toEqual(['pay rogue twice']);
  });
});
