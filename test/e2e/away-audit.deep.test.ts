import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { awayText } from '../../src/authority/away-statement';
import { signStatement, signText } from '../../src/authority/sign-statement';
import { AWAY_NAMESPACE } from '../../src/authority/ssh-signature';
import { statementOf, statementText } from '../../src/authority/statement';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/to-sign';
import { readSigningKey } from '../../src/cli/audit/keys';
import { type Away, type AwayTerms, awayTerms, connect, type Countersign } from '../../src/client';
import type { VoteSignature } from '../../src/contract/decision';
import { continueChain, firstLine } from '../../src/history/audit/chain';
import type { AuditRecord } from '../../src/history/audit/format';
import { keyId, makeKeys } from '../../src/history/audit/file-key';
import { defineAgent } from '../../src/tools/define-agent';
import type { Ended } from '../cli/process';
import { runCli } from '../cli/run-cli';
import { recordTool, useEffects } from '../support/effects';
import { type Fixture, startFixture } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { scriptBook } from '../support/script-book';
import { sshKeygen } from '../support/ssh';
import { waitFor } from '../support/turns';
import { until } from '../support/until';
import { needs } from '../support/parts';

needs('ssh');

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
const publicLine = (name: string): string => readFileSync(`${keyOf(name)}.pub`, 'utf8').trim();

/** Who is away is known for a namespace, so these have a server of their own. */
beforeAll(async () => {
  fixture = await startFixture({ ownServer: {} });
  for (const name of NAMES) sshKeygen(['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', keyOf(name)]);
  const people = NAMES.map((name) => `  ${name}: { keys: ['${publicLine(name)}'] }`);
  approvers = join(fixture.directory, 'approvers.yaml');
  writeFileSync(
    approvers,
    `installation: '${INSTALLATION}'
people:
${people.join('\n')}
rules:
  - { name: signed, tools: [pay], then: ask, approvers: { any: [dora] }, assurance: signed }
  - { name: claimed, tools: [note], then: ask, approvers: { any: [dora] } }
  - { name: default, then: by_safety }
`,
  );
  const tools = ['pay', 'note'].map((name) =>
    recordTool(effects, { name, safety: 'dangerous', effect: 'unsafe' }),
  );
  const clerk = defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools });
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

/** Signs an entry with OpenSSH's own program. */
async function signedBy(name: string, terms: AwayTerms): Promise<VoteSignature> {
  const text = awayText(terms, { installation: INSTALLATION, namespace: client.namespace });
  const { armored } = await signText(text, { keyFile: keyOf(name), namespace: AWAY_NAMESPACE });
  return { kind: 'ssh', armored, at: terms.at, notAfter: terms.end };
}

/** Somebody leaves, with xena in their place, and signs that. */
async function leave(from = 'dora', start = Date.now()): Promise<Away> {
  const terms = awayTerms({ from, to: 'xena' }, { start, end: start + HOUR });
  return client.away.put({ ...terms, signature: await signedBy(from, terms) });
}

/** Starts a turn that asks for a call. */
async function asked(tool: string, tag: string): Promise<string> {
  const prompt = book.add({ toolCalls: [{ name: tool, arguments: { tag } }] }, { text: 'done' });
  const { turn } = await client.start({ agent: 'clerk', prompt, taskQueue: fixture.taskQueue });
  await waitFor(fixture.client.workflow.getHandle(turn), '1.1');
  return turn;
}

/** Starts a turn, and xena approves its call by an entry in the place of dora, with a signature that says so. */
async function voted(entry: string): Promise<string> {
  const turn = await asked('pay', entry);
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
async function verified(by = ['--approvers', approvers]) {
  const { code, out } = await cli('audit', 'verify', path(), ...by, '--json');
  return { code, report: JSON.parse(out || '{}') };
}

const fact = z.union([z.string(), z.number(), z.boolean()]);
const values = z.record(z.string(), z.tuple([z.string(), z.string()]));
const lineSchema = z.looseObject({
  ...{ type: z.string(), at: z.string(), turn: z.string(), run: z.string() },
  ...{ event: z.number(), part: z.number(), open: values },
});

/** Writes the file anew, as who holds its key can: every hash and signature is right, and a record is another. */
function rewrite(change: (record: AuditRecord) => AuditRecord[]): void {
  const key = readSigningKey(join(directory(), 'countersign-audit.key'), {});
  const at = new Date().toISOString();
  const first = firstLine({ namespace: client.namespace, key: keyId(key), at });
  const chain = continueChain(first.end);
  const lines = readFileSync(path(), 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => {
      const { data } = lineSchema.safeParse(JSON.parse(line));
      if (data === undefined) return [];
      const { type, at, turn, run, event, part, open, ...rest } = data;
      const facts = Object.fromEntries(
        Object.entries(rest).filter(([name]) => !['n', 'prev', 'hash', 'sealed'].includes(name)),
      );
      const sealed = Object.fromEntries(Object.entries(open).map(([name, [, value]]) => [name, value]));
      return change({
        type,
        at,
        turn,
        run,
        event,
        part,
        facts: z.record(z.string(), fact).parse(facts),
        sealed,
      });
    });
  writeFileSync(
    path(),
    [first.text, ...lines.map((one) => chain.append(one)), chain.sign(key, at), ''].join('\n'),
  );
}
/** Changes the out-of-office that the file holds. */
const withAway = (change: (entry: Away) => Away, more: object = {}): void =>
  rewrite((one) => {
    if (one.type !== 'away') return [one];
    const said = JSON.parse(one.sealed.away ?? '');
    const away = JSON.stringify({ ...said, entry: change(said.entry) });
    return [{ ...one, sealed: { ...one.sealed, away, ...more } }];
  });

it('verifies a turn that ran by a signed vote in a place, and finds the place that was changed', async () => {
  const { id } = await leave();
  const turn = await voted(id);
  await fixture.client.workflow.getHandle(turn).result();
  const { code, report } = await audited(turn);
  expect({ code, report }).toMatchObject({
    code: 0,
    report: {
      signatures: { counts: { verified: 1, bad: 0 }, verified: { xena: 1 } },
      places: { counts: { verified: 1, bad: 0, missing: 0 } },
    },
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

it('proves from the file alone that the person let the other vote, and finds each forgery', async () => {
  const entry = await leave();
  const turn = await voted(entry.id);
  await fixture.client.workflow.getHandle(turn).result();
  await audited(turn);
  const whole = readFileSync(path(), 'utf8');
  const alone = await verified([]);
  expect(alone).toMatchObject({ code: 0, report: { places: { counts: { carried: 1, bad: 0 } } } });
  expect(readFileSync(path(), 'utf8')).toContain(entry.signature?.armored.split('\n')[1]);

  const xenas = JSON.stringify({ person: 'dora', groups: [], line: publicLine('xena') });
  const forgeries: [() => void | Promise<void>, object, RegExp][] = [
    [() => withAway((one) => ({ ...one, to: 'ed' })), { bad: 1 }, /ed votes in their place/],
    [() => withAway((one) => ({ ...one, from: 'ed' })), { bad: 1 }, /names the out-of-office of ed/],
    [() => withAway((one) => ({ ...one, id: randomUUID() })), { bad: 1 }, /and the file holds/],
    [
      () => withAway((one) => ({ ...one, start: new Date(Date.now() + HOUR / 2).toISOString() })),
      { bad: 1 },
      /dora was not away when it was cast/,
    ],
    [
      () => withAway((one) => ({ ...one, end: new Date(Date.now() + 9 * HOUR).toISOString() })),
      { bad: 1 },
      /not a signature over this/,
    ],
    [
      () => withAway(({ signature: _, ...one }) => one),
      { bad: 1 },
      /that dora is away is claimed, and the rule wants it signed/,
    ],
    [
      async () => {
        const signature = await signedBy('xena', entry);
        withAway((one) => ({ ...one, signature }), { roster: xenas });
      },
      { bad: 1 },
      /made with somebody else's key/,
    ],
    [() => rewrite((one) => (one.type === 'away' ? [] : [one])), { missing: 1 }, /does not hold the out/],
  ];
  for (const [forge, counts, why] of forgeries) {
    writeFileSync(path(), whole);
    await forge();
    const { code, report } = await verified();
    expect({ code, places: report.places }).toMatchObject({
      code: 'bad' in counts ? 1 : 0,
      places: { counts: { verified: 0, ...counts }, unproven: [{ why: expect.stringMatching(why) }] },
    });
    // The vote itself is as it was.
    expect(report.signatures.counts).toMatchObject({ verified: 1, bad: 0 });
  }
  // Who writes another key beside it is found only by an approvers file.
  writeFileSync(path(), whole);
  const signature = await signedBy('xena', entry);
  withAway((one) => ({ ...one, signature }), { roster: xenas });
  expect(await verified([])).toMatchObject({ code: 0, report: { places: { counts: { carried: 1 } } } });

  writeFileSync(path(), whole);
  expect((await cli('audit', 'redact', path(), '--fields', 'away')).code).toBe(0);
  expect(await verified()).toMatchObject({ code: 0, report: { places: { counts: { taken_out: 1 } } } });
});

it('says that an out-of-office is only claimed, where the rule wants no more', async () => {
  const start = Date.now();
  const terms = awayTerms({ from: 'dora', to: 'xena' }, { start, end: start + HOUR });
  const { id } = await client.away.put(terms);
  const turn = await asked('note', 'claimed');
  const { request } = (await client.view(turn)).calls[0] ?? {};
  const { seenDigest = '', callKey = '' } = request ?? {};
  const inPlaceOf = { person: 'dora', entry: id };
  await client.decide(turn, {
    ...{ callId: '1.1', decision: 'approved', approver: 'xena' },
    ...{ inPlaceOf, seenDigest, callKey },
  });
  await fixture.client.workflow.getHandle(turn).result();
  expect(await effects.lines('claimed')).toEqual(['note claimed']);
  expect(await audited(turn)).toMatchObject({
    code: 0,
    report: { signatures: { counts: { none: 1 } }, places: { counts: { claimed: 1, missing: 0, bad: 0 } } },
  });
  const { out } = await cli('audit', 'verify', path());
  expect(out).toMatch(/in a place +only claimed: 1, bad out-of-office: 0/);
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
  const { code, report } = await audited(turn);
  expect(code).toBe(0);
  // Nothing started by it, so no worker says by which out-of-office.
  expect(report.places).toMatchObject({ counts: { verified: 0, missing: 1 } });
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
