import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awayText } from '../../src/authority/away-statement';
import { signStatement, signText } from '../../src/authority/sign-statement';
import { AWAY_NAMESPACE } from '../../src/authority/ssh-signature';
import { statementOf, statementText } from '../../src/authority/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/to-sign';
import { type Away, awayTerms, connect, type Countersign } from '../../src/client';
import { makeKeys } from '../../src/history/audit/keys';
import { defineAgent } from '../../src/tools/define-agent';
import { type Ended, runCli } from '../cli/process';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const directory = scratchDirectory();
const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const HOUR = 3_600_000;
const NAMES = ['dora', 'ed', 'xena'];
let fixture: Fixture;
let client: Countersign;
let approvers = '';

const keyOf = (name: string): string => join(fixture.directory, name);

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  for (const name of NAMES) sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', keyOf(name)]);
  const people = NAMES.map((name) => {
    const line = readFileSync(`${keyOf(name)}.pub`, 'utf8').trim();
    return `  ${name}: { keys: ['${line}'] }`;
  });
  approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(
    approvers,
    `installation: '${INSTALLATION}'
people:
${people.join('\n')}
rules:
  - { name: signed, tools: [pay], then: ask, approvers: { any: [dora] }, assurance: signed }
  - { name: default, then: by_safety }
`,
  );
  const pay = recordTool(effects, { name: 'pay', safety: 'dangerous', effect: 'unsafe' });
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [pay] });
  await fixture.addWorker({}, { agents: [clerk], approvers });
  client = await connect({ client: fixture.client });
});
beforeEach(() => {
  const { privatePem, publicPem } = makeKeys();
  writeFileSync(join(directory(), 'countersign-audit.key'), privatePem, { mode: 0o600 });
  writeFileSync(join(directory(), 'countersign-audit.key.pub'), publicPem);
});
afterEach(async () => {
  for (const { id } of (await client.away.list()).entries) await client.away.end({ id, by: 'test' });
});

/** Somebody leaves, with xena in their place, and signs that. */
async function leave(from = 'dora', start = Date.now()): Promise<Away> {
  const terms = awayTerms({ from, to: 'xena' }, { start, end: start + HOUR });
  const text = awayText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const { armored } = await signText(text, { keyFile: keyOf(from), namespace: AWAY_NAMESPACE });
  return client.away.put({
    ...terms,
    signature: { kind: 'ssh', armored, at: terms.at, notAfter: terms.end },
  });
}

/** Starts a turn, and xena approves its call by an entry in the place of dora, with a signature that says so. */
async function voted(entry: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: entry } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  const view = await client.view(turn);
  const [call] = view.calls;
  const inPlaceOf = { person: 'dora', entry };
  const facts = call && factsToSign(view, call, { installation: INSTALLATION, ...client.placeOf(view) });
  const times = timesToSign(call ?? {}, Date.now());
  const said = { decision: 'approved', approver: 'xena', inPlaceOf } as const;
  const statement = facts && statementOf(facts, { ...said, ...times });
  if (statement === undefined) throw new Error('nothing to sign');
  const { armored } = await signStatement(statement, { keyFile: keyOf('xena') });
  const { seenDigest = '', callKey = '' } = call?.request ?? {};
  const signature = signatureOf('ssh', armored, { ...times, text: statementText(statement) });
  await client.decide(turn, { callId: '1.1', ...said, seenDigest, callKey, signature });
  return turn;
}

const cli = (...args: string[]): Promise<Ended> =>
  runCli(args, { cwd: directory(), env: { TEMPORAL_ADDRESS: fixture.address } });
const path = (): string => join(directory(), 'countersign-audit.jsonl');

/** The audit file of one turn, as it is verified against the approvers file. */
async function audited(turn: string) {
  expect(await cli('audit', 'export', '--turn', turn)).toMatchObject({ code: 0 });
  return verified();
}
async function verified() {
  const { code, out } = await cli('audit', 'verify', path(), '--approvers', approvers, '--json');
  return { code, report: JSON.parse(out || '{}') };
}

it('verifies a turn that ran by a signed vote in a place, and finds the place that was changed', async () => {
  const { id } = await leave();
  const turn = await voted(id);
  await fixture.client.workflow.getHandle(turn).result();
  const { code, report } = await audited(turn);
  expect({ code, report }).toMatchObject({
    code: 0,
    report: { signatures: { counts: { verified: 1, bad: 0 }, verified: { xena: 1 } } },
  });
  const whole = readFileSync(path(), 'utf8');
  expect(whole).toContain(id);
  // The name stands in `place`, in what was signed in words, and nowhere else of the decision.
  for (const [from, to] of [
    [/\\"person\\":\\"dora\\"/g, '\\"person\\":\\"ed\\"'],
    [new RegExp(id, 'g'), randomUUID()],
  ] as const) {
    const changed = whole.replace(from, to);
    expect(changed).not.toBe(whole);
    writeFileSync(path(), changed);
    expect((await verified()).code).not.toBe(0);
  }
});

it.each<[string, () => Promise<string>, RegExp]>([
  ['there is no entry', async () => randomUUID(), /dora is back, or never was away/],
  ['the entry is of another person', async () => (await leave('ed')).id, /names the out-of-office of ed/],
  [
    'it is outside of its time',
    async () => (await leave('dora', Date.now() + HOUR)).id,
    /dora was not away when it was cast/,
  ],
])('says that the vote was struck out where %s, and that nothing ran by it', async (_what, entry, why) => {
  const id = await entry();
  const turn = await voted(id);
  await until('it to be struck', async () => (await client.view(turn)).calls[0]?.request?.note !== undefined);
  const { code } = await audited(turn);
  expect(code).toBe(0);
  const records = readFileSync(path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const types = records.map(({ type }) => type);
  expect(types).toContain('void');
  expect(types).not.toContain('outcome');
  expect(JSON.stringify(records.filter(({ type }) => type === 'void'))).toMatch(why);
  expect(await effects.lines(id)).toEqual([]);
  await client.cancel(turn);
});
