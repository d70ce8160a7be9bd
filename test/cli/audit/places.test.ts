import { type Approvers, parseApprovers } from '../../../src/authority/approvers';
import { awayText } from '../../../src/authority/away-statement';
import {
  AWAY_NAMESPACE,
  GRANT_NAMESPACE,
  INBOX_AWAY_NAMESPACE,
  SIGNATURE_NAMESPACE,
} from '../../../src/authority/ssh-signature';
import { createPlaceChecker, placeFacts, type PlaceReport } from '../../../src/cli/audit/places';
import { createStyle } from '../../../src/cli/print/screen';
import type { Roster, RosterAway } from '../../../src/contract/authority/roster';
import type { Away } from '../../../src/contract/control/away';
import type { SealedField } from '../../../src/history/audit/format';
import { readLine } from '../../../src/history/audit/read';
import { redactLine } from '../../../src/history/audit/redact';
import { createRecorder } from '../../../src/history/audit/records';
import { fileOf } from '../../history/audit/sample';
import { accepted, ask, item, result, Script } from '../../history/script';
import { newSigner } from '../../support/ssh';

type PlaceState = keyof PlaceReport['counts'];
const INSTALLATION = 'ab'.repeat(16);
const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(NOW + ms).toISOString();
const [dora, xena, ed] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
const [inbox, stranger] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];

const approversWith = (doras: readonly string[], more = ''): Approvers =>
  parseApprovers(
    `installation: '${INSTALLATION}'
inboxKeys: ['${inbox.line}']
people:
  dora: { keys: ${JSON.stringify(doras)}, mail: dora@example.com }
  xena: { keys: ['${xena.line}'] }
  ed: { keys: ['${ed.line}'] }
rules:
  - { name: signed, tools: [pay], then: ask, approvers: { any: [dora] }, assurance: signed }
  - { name: ssh, tools: [wire], then: ask, approvers: { any: [dora] }, assurance: signed_ssh }
  - { name: default, then: ask }
${more}`,
    'approvers.yaml',
  );
const approvers = approversWith([dora.line]);

const ENTRY: Away = {
  ...{ id: '00000000-0000-4000-8000-000000000001', from: 'dora', to: 'xena', at: iso(-60 * MINUTE) },
  ...{ start: iso(-60 * MINUTE), end: iso(60 * MINUTE), takenAt: iso(-60 * MINUTE) },
};

interface Case {
  /** The rule of the request, by the tool that it is about. */
  tool?: 'pay' | 'wire' | 'note';
  /** Whose place the vote names, and by which entry. */
  place?: Partial<{ person: string; entry: string }>;
  voter?: string;
  /** What is said in the entry that is signed. */
  entry?: Partial<Away>;
  /** What is changed in the entry once it is signed. */
  forged?: Partial<Away>;
  isUnsigned?: boolean;
  by?: typeof dora;
  kind?: 'ssh' | 'inbox';
  namespace?: string;
  installation?: string;
  /** The line that the worker says it found the signature good by; null: none. */
  line?: string | null;
  /** Where the record of the worker differs. */
  says?: object;
  fileDigest?: string;
  /** The worker says this in place of the entry, or nothing at all. */
  instead?: 'nothing' | 'no entry' | 'another vote';
  isLost?: boolean;
  /** Time between the vote and the start of the call. */
  waits?: number;
  files?: Approvers[];
  without?: SealedField[];
}

const signed = (one: Case): Away => {
  const { by = dora, kind = 'ssh', installation = INSTALLATION } = one;
  const { namespace = kind === 'ssh' ? AWAY_NAMESPACE : INBOX_AWAY_NAMESPACE } = one;
  const entry = { ...ENTRY, ...one.entry };
  if (one.isUnsigned === true) return { ...entry, ...one.forged };
  const armored = by.sign(awayText(entry, { installation, namespace: 'default' }), { namespace });
  return { ...entry, signature: { kind, armored, at: entry.at, notAfter: entry.end }, ...one.forged };
};

const rosterBy = (one: Case): Roster | undefined => {
  if (one.instead === 'nothing') return undefined;
  const { fileDigest = 'f'.repeat(64), line = one.isUnsigned === true ? null : (one.by ?? dora).line } = one;
  const decisionId = one.instead === 'another vote' ? 'other' : 'd-1.1-approved';
  const [from, to] = [{ person: 'dora', mail: 'dora@example.com' }, { person: 'xena' }];
  const key = line === null ? {} : { key: { decisionId, ...from, groups: [], line } };
  const away: RosterAway = { decisionId, entry: signed(one), from, to, ...key, ...one.says };
  const roster = { installation: INSTALLATION, fileDigest, lines: [] };
  return one.instead === 'no entry' ? roster : { ...roster, away: [away] };
};

/** The records of a turn whose call starts by a vote in somebody's place. */
const scriptOf = (one: Case): Script => {
  const { tool = 'pay', voter = 'xena', place, waits = 0 } = one;
  const facts = { agent: 'a', tool, safety: 'dangerous', effect: 'unsafe', args: {} } as const;
  const authority = approvers.authorityBy(approvers.rulingOn(facts), ['rita']);
  const call = ask('1.1', { authority, tool });
  const script = new Script()
    .started()
    .task()
    .think(1, [call])
    .open([item('1.1', { tool })]);
  const inPlaceOf = { person: 'dora', entry: ENTRY.id, ...place };
  const said = { callId: '1.1', decision: 'approved', approver: voter, inPlaceOf };
  script.update('decide', said, accepted('1.1', 'approved', { approver: voter })).wait(waits);
  const started = script.call(call);
  const by = { roster: rosterBy(one) };
  if (one.isLost === true) script.done(started, { inDoubt: { message: 'lost' }, ...by });
  else script.done(started, { result: result('1.1', { tool }), contentDigest: 'x', ...by });
  return script.task();
};

const reportOn = async (one: Case): Promise<PlaceReport> => {
  const recorder = createRecorder('t');
  const records = scriptOf(one)
    .fold()
    .flatMap((event) => recorder.push(event));
  const checker = await createPlaceChecker(one.files ?? [approvers]);
  for (const text of fileOf(records)) {
    const whole = readLine(text);
    if (typeof whole === 'string') throw new Error(whole);
    const line = readLine(redactLine(text, whole, one.without ?? []));
    if (typeof line !== 'string') checker.push(line);
  }
  return checker.finish();
};

const ZERO = {
  ...{ verified: 0, removed: 0, revoked: 0, carried: 0, claimed: 0 },
  ...{ bad: 0, missing: 0, unknown_key: 0, taken_out: 0 },
};
const other = '00000000-0000-4000-8000-000000000002';
const today = approversWith([dora.line]);
const changed = approversWith([stranger.line]);
const revokedSince = (since: string): Approvers =>
  approversWith([dora.line], `revoked: [{ key: '${dora.line}', since: '${since}' }]\n`);
const byInbox = { kind: 'inbox', by: inbox } as const;

it.each<[what: string, one: Case, is: [state: PlaceState, why?: RegExp]]>([
  ['as it was signed', {}, ['verified']],
  ['of a call that was lost', { isLost: true }, ['verified']],
  ['by a mail address', { entry: { from: 'DORA@example.com' } }, ['verified']],
  ['by a mail address, and no file', { entry: { from: 'DORA@example.com' }, files: [] }, ['carried']],
  ['with another reason', { forged: { reason: 'beach' } }, ['verified']],
  // What the worker checked, and what it could not have counted.
  ['that nobody signed', { isUnsigned: true }, ['bad', /is claimed, and the rule wants it signed/]],
  ['that nobody signed, where a claim will do', { isUnsigned: true, tool: 'note' }, ['claimed']],
  [
    'that the web inbox signed',
    byInbox,
    ['bad', /that dora is away is signed in, and the rule wants it signed/],
  ],
  ['that the web inbox signed, where a claim will do', { ...byInbox, tool: 'note' }, ['verified']],
  ['that was signed at a terminal, as the rule wants', { tool: 'wire' }, ['verified']],
  ['of another delegate', { entry: { to: 'ed' } }, ['bad', /while dora is away, ed votes in their place/]],
  ['of another voter', { voter: 'ed' }, ['bad', /while dora is away, xena votes in their place/]],
  ['of somebody else', { entry: { from: 'ed' }, by: ed }, ['bad', /it names the out-of-office of ed/]],
  ['for the place of another', { place: { person: 'ed' } }, ['bad', /names the out-of-office of dora/]],
  ['of another id', { entry: { id: other } }, ['bad', new RegExp(`and the file holds ${other}`)]],
  ['by another id than the vote says', { place: { entry: other } }, ['bad', /it is by the out-of-office/]],
  [
    'that was over',
    { entry: { end: iso(-30 * MINUTE) } },
    ['bad', /dora was not away when it was cast: it holds from 2025-12-31T23:00:00.000Z to/],
  ],
  ['that had not begun', { entry: { start: iso(MINUTE) } }, ['bad', /not away when it was cast/]],
  [
    'that was over when the call started',
    { waits: 80 * MINUTE },
    ['bad', /dora was not away when the call started: it holds from/],
  ],
  ['that ended while the call was started, as clocks may differ', { waits: 65 * MINUTE }, ['verified']],
  ['that was signed later', { entry: { at: iso(20 * MINUTE) } }, ['bad', /10 minutes in the future/]],
  // Forged by who can write history or holds the key of the audit file.
  ['with another window', { forged: { start: iso(-90 * MINUTE) } }, ['bad', /not a signature over this/]],
  ['with another end', { forged: { end: iso(90 * MINUTE) } }, ['bad', /not a signature over this/]],
  [
    'that was signed for another delegate',
    { entry: { to: 'ed' }, forged: { to: 'xena' } },
    ['bad', /not a signature over this/],
  ],
  [
    'that was signed with another id',
    { entry: { id: other }, forged: { id: ENTRY.id } },
    ['bad', /not a signature over this/],
  ],
  ['of another installation', { installation: 'cd'.repeat(16) }, ['bad', /not a signature over this/]],
  ['signed as a decision', { namespace: SIGNATURE_NAMESPACE }, ['bad', /something else than Countersign/]],
  ['signed as a grant', { namespace: GRANT_NAMESPACE }, ['bad', /something else than Countersign/]],
  ['by the delegate', { by: xena, line: dora.line }, ['bad', /by the key that the file carries/]],
  ["by the delegate, as dora's own key", { by: xena }, ['bad', /made with somebody else's key/]],
  ["by the delegate, as dora's own key, and no file", { by: xena, files: [] }, ['carried']],
  ['by the delegate, and no key', { by: xena, line: null }, ['bad', /made with somebody else's key/]],
  [
    'by the web inbox as if by dora',
    { ...byInbox, kind: 'ssh', namespace: INBOX_AWAY_NAMESPACE },
    ['bad', /something else than Countersign/],
  ],
  ['that cannot be read', { says: { entry: { ...ENTRY, start: 'now' } } }, ['bad', /cannot be read/]],
  ['whose key cannot be read', { line: 'ssh-ed25519 x' }, ['bad', /carries for it cannot be read/]],
])('says of an out-of-office %s what it is', async (_what, one, [state, why]) => {
  const { counts, unproven, marked } = await reportOn(one);
  expect(counts).toEqual({ ...ZERO, [state]: 1 });
  const voter = one.voter ?? 'xena';
  const found = { turn: 't', call: '1.1', approver: voter, state, why: why && expect.stringMatching(why) };
  expect([...marked, ...unproven]).toMatchObject(why === undefined ? [] : [found]);
});

it.each<[what: string, one: Case, is: [state: PlaceState, why?: RegExp]]>([
  ['a key, and no file to compare it with', { files: [] }, ['carried']],
  ['the key of the file', { fileDigest: today.digest }, ['verified']],
  ['no key, and a file', { line: null }, ['verified']],
  ['no key, and no file', { line: null, files: [] }, ['unknown_key', /carries no key for it; name --app/]],
  [
    'a key that only an older file has',
    { files: [changed, today] },
    ['removed', /out-of-office of dora: approvers\.yaml lists its key as one of dora; today's does not/],
  ],
  ['a key that no file has', { files: [changed] }, ['unknown_key', /none of the approvers files has/]],
  ["a stranger's key", { by: stranger }, ['unknown_key', /none of the approvers files has that key/]],
  [
    "a stranger's key, as from a file that is there",
    { by: stranger, fileDigest: approvers.digest },
    ['bad', /approvers\.yaml, which it names, does not have/],
  ],
  [
    'a key that was revoked later',
    { files: [revokedSince('2026-01-02')] },
    ['revoked', /revoked since 2026-01-02; this was recorded before then/],
  ],
  [
    'a key that had been revoked',
    { files: [revokedSince('2025-12-31')] },
    ['revoked', /recorded since then/],
  ],
  ['another key in its place', { line: stranger.line }, ['bad', /by the key that the file carries/]],
  ['another key in its place, and no file', { line: stranger.line, files: [] }, ['bad', /file carries/]],
  ['the key of the web inbox', { ...byInbox, tool: 'note', files: [] }, ['carried']],
])('compares %s of an out-of-office', async (_what, one, [state, why]) => {
  const { counts, unproven, marked } = await reportOn(one);
  expect(counts).toEqual({ ...ZERO, [state]: 1 });
  const said = [...marked, ...unproven];
  expect(said).toMatchObject(why === undefined ? [] : [{ why: expect.stringMatching(why) }]);
});

it.each<[what: string, one: Case, is: [state: PlaceState, why: RegExp]]>([
  ['of a worker that says nothing', { instead: 'nothing' }, ['missing', /the file does not hold the out/]],
  ['of a worker that cannot record it', { instead: 'no entry' }, ['missing', /the file does not hold/]],
  ['of another vote', { instead: 'another vote' }, ['missing', /no worker says by which one it started/]],
  ['that was taken out', { without: ['away'] }, ['taken_out', /the out-of-office was taken out/]],
  ['whose key was taken out, and no file', { without: ['roster'], files: [] }, ['taken_out', /the key of/]],
  ['of a place that was taken out', { without: ['place'] }, ['taken_out', /taken out: place/]],
  ['of a voter who was taken out', { without: ['approver'] }, ['taken_out', /taken out: approver/]],
])('says that the file does not hold the out-of-office %s', async (_what, one, [state, why]) => {
  const { counts, unproven } = await reportOn(one);
  expect(counts).toEqual({ ...ZERO, [state]: 1 });
  expect(unproven).toMatchObject([{ state, why: expect.stringMatching(why) }]);
});

it('compares with the approvers file where the key was taken out', async () => {
  const { counts } = await reportOn({ without: ['roster'] });
  expect(counts).toEqual({ ...ZERO, verified: 1 });
});

it('goes by the rule under which the call was asked about last', async () => {
  const recorder = createRecorder('t');
  const records = scriptOf({ isUnsigned: true })
    .fold()
    .flatMap((event) => recorder.push(event));
  const asked = records.findIndex(({ type }) => type === 'request');
  const again = records[asked];
  if (again === undefined) throw new Error('no request');
  const claimed = { ...again, facts: { ...again.facts, assurance: 'claimed' } };
  const checker = await createPlaceChecker([approvers]);
  for (const text of fileOf(records.toSpliced(asked + 1, 0, claimed))) {
    const line = readLine(text);
    if (typeof line !== 'string') checker.push(line);
  }
  expect(checker.finish().counts).toEqual({ ...ZERO, claimed: 1 });
});

it('judges a vote of a turn that is over, though nothing started by it', async () => {
  const recorder = createRecorder('t');
  const records = scriptOf({ instead: 'nothing' })
    .fold()
    .flatMap((event) => recorder.push(event));
  const vote = records.find(({ type }) => type === 'decision');
  if (vote === undefined) throw new Error('no vote');
  const over = { ...vote, type: 'turn_ended', event: 99, sealed: {} };
  const checker = await createPlaceChecker();
  const lines = fileOf([vote, over, { ...vote, sealed: { approver: 'dora' } }]);
  for (const text of lines) {
    const line = readLine(text);
    if (typeof line !== 'string') checker.push(line);
  }
  expect(checker.finish().counts).toEqual({ ...ZERO, missing: 1 });
});

it('prints what there is in a place, and nothing where nobody voted so', async () => {
  const format = { style: createStyle(false) };
  expect(placeFacts({ counts: ZERO, marked: [], unproven: [] }, format)).toEqual([]);
  const facts = placeFacts(await reportOn({ isUnsigned: true }), format);
  expect(facts.map(([name]) => name)).toEqual(['in a place', 'bad out-of-office', 'and']);
  expect(facts[0]).toEqual([
    'in a place',
    'bad out-of-office: 1, no out-of-office: 0, unknown key: 0, values taken out: 0',
  ]);
  expect(facts[1]?.[1]).toMatchObject({
    text: expect.stringMatching(/^t\/1\.1, xena, record \d+: that dora/),
  });
});
