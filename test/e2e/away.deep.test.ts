import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { awayText } from '../../src/authority/away-statement';
import { signStatement, signText } from '../../src/authority/sign-statement';
import { AWAY_NAMESPACE, GRANT_NAMESPACE } from '../../src/authority/ssh-signature';
import { type SignableVote, statementOf, statementText } from '../../src/authority/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/to-sign';
import { type Away, awayTerms, type AwayTerms, connect, type Countersign } from '../../src/client';
import type { Decision, VoteSignature } from '../../src/contract/decision';
import type { CallView } from '../../src/history/view';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { needs } from '../support/parts';

needs('ssh');

const effects = useEffects();
const book = scriptBook();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const HOUR = 3_600_000;
let fixture: Fixture;
let client: Countersign;
let keys = '';

const publicLine = (name: string): string => readFileSync(join(keys, `${name}.pub`), 'utf8').trim();
const personLine = (name: string, groups: string): string =>
  `  ${name}: { groups: [${groups}], keys: ['${publicLine(name)}'] }`;

const approversFile = (): string => `
installation: '${INSTALLATION}'
people:
${personLine('dora', 'finance')}
${personLine('ed', 'finance')}
${personLine('rita', 'finance')}
${personLine('xena', 'staff')}
${personLine('yan', 'staff')}
rules:
  - name: signed
    tools: [pay]
    then: ask
    approvers: { any: [dora], notRequester: true }
    assurance: signed
  - name: two
    tools: [wire]
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
  - name: claimed
    tools: [note]
    then: ask
    approvers: { any: [dora] }
  - name: default
    then: by_safety
`;

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  keys = join(fixture.directory, 'keys');
  await mkdir(keys);
  for (const name of ['dora', 'ed', 'rita', 'xena', 'yan'])
    sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(keys, name)]);
  const approvers = join(fixture.directory, 'approvers.yaml');
  await writeFile(approvers, approversFile());
  const tools = ['pay', 'wire', 'note'].map((name) =>
    recordTool(effects, { name, safety: 'dangerous', effect: 'unsafe' }),
  );
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ client: fixture.client });
});
afterEach(async () => {
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
});

const handleOf = (turn: string): TurnHandle => fixture.client.workflow.getHandle(turn);

/** Starts a turn that asks for one call, and waits until it is asked about. */
async function asked(name: string, tag: string, requester = 'rita'): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name, arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue, requester });
  await waitFor(handleOf(turn), '1.1');
  return turn;
}

const callOf = async (turn: string): Promise<CallView> => {
  const [call] = (await client.view(turn)).calls;
  if (call === undefined) throw new Error('no call');
  return call;
};

/** What somebody says who is away for an hour. */
const termsOf = (from: string, to: string, start = Date.now()): AwayTerms =>
  awayTerms({ from, to }, { start, end: start + HOUR });

/** Signs it with OpenSSH's own program. */
async function signAway(
  terms: AwayTerms,
  { key = terms.from, namespace = AWAY_NAMESPACE } = {},
): Promise<VoteSignature> {
  const text = awayText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const { armored } = await signText(text, { keyFile: join(keys, key), namespace });
  return { kind: 'ssh', armored, at: terms.at, notAfter: terms.end };
}

const unsigned = (from: string, to: string): Promise<Away> => client.away.put(termsOf(from, to));

async function signed(from: string, to: string): Promise<Away> {
  const terms = termsOf(from, to);
  return client.away.put({ ...terms, signature: await signAway(terms) });
}

const placeOf = ({ from, id }: Pick<Away, 'from' | 'id'>) => ({ person: from, entry: id });

/** A vote of somebody, as it is sent. */
async function voteOn(turn: string, approver: string, entry?: Pick<Away, 'from' | 'id'>): Promise<Decision> {
  const { request } = await callOf(turn);
  if (request === undefined) throw new Error('no request');
  const { seenDigest, callKey } = request;
  const place = entry === undefined ? {} : { inPlaceOf: placeOf(entry) };
  return { callId: '1.1', decision: 'approved', approver, seenDigest, callKey, ...place };
}

/** Its signature, made with OpenSSH's own program. */
async function signVote(turn: string, vote: Decision, said: Partial<SignableVote> = {}): Promise<Decision> {
  const { approver = '', inPlaceOf } = vote;
  const call = await callOf(turn);
  const at = { installation: INSTALLATION, ...client.placeOf(await client.view(turn)) };
  const facts = factsToSign({ agent: 'clerk' }, call, at);
  const times = timesToSign(call, Date.now());
  const statement =
    facts && statementOf(facts, { decision: 'approved', approver, inPlaceOf, ...times, ...said });
  if (statement === undefined) throw new Error('nothing to sign');
  const { armored } = await signStatement(statement, { keyFile: join(keys, approver) });
  return { ...vote, signature: signatureOf('ssh', armored, { ...times, text: statementText(statement) }) };
}

/** Waits until votes are struck; why they are. */
async function struck(turn: string, ...voters: string[]): Promise<string> {
  await until('it to be asked about again', async () => (await callOf(turn)).request?.note !== undefined);
  const events = await client.timeline(turn);
  expect(events.findLast(({ type }) => type === 'decision_void')).toMatchObject({ struck: voters });
  const call = await callOf(turn);
  expect(call.phase).toBe('requested');
  return call.request?.note ?? '';
}

const isDone = async (turn: string): Promise<unknown> => handleOf(turn).result();

it('runs a call once by the signed vote of who stands in for somebody who signed that they are away', async () => {
  const entry = await signed('dora', 'xena');
  const turn = await asked('pay', 'stands in');
  const vote = await signVote(turn, await voteOn(turn, 'xena', entry));
  expect(await client.decide(turn, vote)).toMatchObject({ status: 'accepted' });
  await isDone(turn);
  expect(await effects.lines('stands in')).toEqual(['pay stands in']);
  const call = await callOf(turn);
  const inPlaceOf = placeOf(entry);
  expect(call.votes).toEqual([{ voter: 'xena', decision: 'approved', inPlaceOf, signedBy: 'ssh' }]);
});

/** Who says that dora is away, where it does not count for a rule that wants signatures. */
const FORGERIES: [what: string, entry: () => Promise<Pick<Away, 'from' | 'id'>>, why: RegExp][] = [
  [
    'nobody signed it',
    () => unsigned('dora', 'xena'),
    /that dora is away is claimed, and the rule wants it signed/,
  ],
  [
    'the delegate signed it',
    async () => {
      const terms = termsOf('dora', 'xena');
      return client.away.put({ ...terms, signature: await signAway(terms, { key: 'xena' }) });
    },
    /signature on it that dora is away is refused: it was made with somebody else's key/,
  ],
  [
    'it was signed for another delegate',
    async () => {
      const terms = termsOf('dora', 'xena');
      return client.away.put({ ...terms, signature: await signAway({ ...terms, to: 'yan' }) });
    },
    /it is not a signature over this/,
  ],
  [
    'it was signed as a grant',
    async () => {
      const terms = termsOf('dora', 'xena');
      return client.away.put({ ...terms, signature: await signAway(terms, { namespace: GRANT_NAMESPACE }) });
    },
    /for something else than Countersign/,
  ],
  ['it names another delegate', () => signed('dora', 'yan'), /while dora is away, yan votes in their place/],
  [
    'it is of somebody else',
    async () => ({ from: 'dora', id: (await signed('ed', 'xena')).id }),
    /it names the out-of-office of ed/,
  ],
  [
    'it has not begun',
    async () => {
      const terms = termsOf('dora', 'xena', Date.now() + HOUR);
      return client.away.put({ ...terms, signature: await signAway(terms) });
    },
    /dora was not away when it was cast/,
  ],
  ['there is none', async () => ({ from: 'dora', id: randomUUID() }), /dora is back, or never was away/],
];

it.each(FORGERIES)('strikes the vote out where %s, and waits again', async (what, put, why) => {
  const entry = await put();
  const turn = await asked('pay', what);
  await client.decide(turn, await signVote(turn, await voteOn(turn, 'xena', entry)));
  expect(await struck(turn, 'xena')).toMatch(why);
  expect(await effects.lines(what)).toEqual([]);
  await client.decide(turn, await signVote(turn, await voteOn(turn, 'dora')));
  await isDone(turn);
  expect(await effects.lines(what)).toEqual([`pay ${what}`]);
});

it('counts no more once the person is back, however the entry was signed', async () => {
  const entry = await signed('dora', 'xena');
  await client.away.end({ id: entry.id, by: 'dora' });
  const { takenAt: _, ...again } = entry;
  await expect(client.away.put(again)).rejects.toMatchObject({ code: 'away_refused' });
  const turn = await asked('pay', 'back');
  await client.decide(turn, await signVote(turn, await voteOn(turn, 'xena', entry)));
  expect(await struck(turn, 'xena')).toMatch(/dora is back, or never was away/);
  expect(await effects.lines('back')).toEqual([]);
});

it('does not take a signature as oneself for one in the place of somebody else', async () => {
  const entry = await signed('dora', 'xena');
  const turn = await asked('pay', 'replayed');
  const vote = await voteOn(turn, 'xena', entry);
  await client.decide(turn, await signVote(turn, vote, { inPlaceOf: undefined }));
  expect(await struck(turn, 'xena')).toMatch(/says something else than what was signed/);
  expect(await effects.lines('replayed')).toEqual([]);
});

it('starts nothing by a signal of somebody with rights on Temporal who makes up a place', async () => {
  const turn = await asked('note', 'forged');
  const vote = await voteOn(turn, 'xena', { from: 'dora', id: randomUUID() });
  await handleOf(turn).signal('approval', vote);
  expect(await struck(turn, 'xena')).toMatch(/dora is back, or never was away/);
  expect(await effects.lines('forged')).toEqual([]);
});

it('counts an unsigned one where a claim will do', async () => {
  const entry = await unsigned('dora', 'xena');
  const turn = await asked('note', 'claimed');
  await client.decide(turn, await voteOn(turn, 'xena', entry));
  await isDone(turn);
  expect(await effects.lines('claimed')).toEqual(['note claimed']);
});

it('takes one vote a person and one a seat where two have to approve', async () => {
  const entry = await unsigned('dora', 'xena');
  const turn = await asked('wire', 'two');
  const needs = { verdict: { needs: { approvals: 1 } } };
  expect(await client.decide(turn, await voteOn(turn, 'dora'))).toMatchObject(needs);
  expect(await client.decide(turn, await voteOn(turn, 'xena', entry))).toMatchObject(needs);
  expect(await effects.lines('two')).toEqual([]);
  await client.decide(turn, await voteOn(turn, 'ed'));
  await isDone(turn);
  expect(await effects.lines('two')).toEqual(['wire two']);
});

it("lets the requester's delegate vote in nobody's place under notRequester", async () => {
  const own = await unsigned('rita', 'xena');
  const turn = await asked('wire', 'requester');
  const refused = { status: 'refused', verdict: { code: 'not_allowed' } };
  expect(await client.decide(turn, await voteOn(turn, 'xena', own))).toMatchObject(refused);
  const other = await unsigned('dora', 'xena');
  await client.decide(turn, await voteOn(turn, 'xena', other));
  await client.decide(turn, await voteOn(turn, 'ed'));
  expect(await struck(turn, 'xena')).toMatch(/xena is a delegate of who asked for the turn/);
  expect(await effects.lines('requester')).toEqual([]);
});

it("takes no vote of the requester's delegate as themselves under notRequester, until the requester is back", async () => {
  const { id } = await unsigned('rita', 'ed');
  const turn = await asked('wire', 'own vote');
  await client.decide(turn, await voteOn(turn, 'dora'));
  await client.decide(turn, await voteOn(turn, 'ed'));
  expect(await struck(turn, 'ed')).toMatch(/ed is a delegate of who asked for the turn/);
  expect(await effects.lines('own vote')).toEqual([]);
  await client.away.end({ id, by: 'rita' });
  await client.decide(turn, await voteOn(turn, 'ed'));
  await isDone(turn);
  expect(await effects.lines('own vote')).toEqual(['wire own vote']);
});

it("does not pass on: a delegate of a delegate votes in nobody's place", async () => {
  await unsigned('dora', 'xena');
  const next = await unsigned('xena', 'yan');
  const turn = await asked('note', 'chain');
  const vote = await voteOn(turn, 'yan', next);
  expect(await client.decide(turn, vote)).toMatchObject({ verdict: { code: 'not_allowed' } });
  await client.decide(turn, { ...vote, inPlaceOf: { person: 'dora', entry: next.id } });
  expect(await struck(turn, 'yan')).toMatch(/it names the out-of-office of xena/);
  expect(await effects.lines('chain')).toEqual([]);
});
