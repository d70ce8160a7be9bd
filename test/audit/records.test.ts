import type { CallRuling } from '../../src/contract/policy-rule';
import { defined } from '../../src/contract/defined';
import { digestJson } from '../../src/contract/digest';
import type { AuditRecord } from '../../src/audit/format';
import { createRecorder } from '../../src/audit/records';
import type { TurnEvent } from '../../src/history/events';
import { accepted, ask, item, result, run, Script } from '../history/script';
import { recordedFiles, recordsOfFile } from './sample';
import { sha256 } from '../../src/system/sha256';

const recordsOf = (events: readonly TurnEvent[]): AuditRecord[] => {
  const recorder = createRecorder('t');
  return events.flatMap((event) => recorder.push(event));
};
const typed = (records: readonly AuditRecord[], type: string) => records.filter((one) => one.type === type);

/** Of what the approver says to have seen. */
const SEEN = 'a'.repeat(64);
const PREVIEW = { text: 'pay 1' };

describe('a call that was edited', () => {
  const script = new Script()
    .started('pay ann')
    .task()
    .think(1, [ask('1.1', { preview: PREVIEW })])
    .open([item('1.1')])
    .update(
      'decide',
      {
        callId: '1.1',
        decision: 'modified',
        arguments: { n: 2 },
        approver: 'ann',
        channel: 'web',
        reason: 'less',
      },
      accepted('1.1', 'modified'),
    )
    .open([]);
  const started = script.call(ask('1.1', { arguments: { n: 2 } }), { decision: accepted('1.1', 'modified') });
  script.done(started, { result: result('1.1', { content: 'paid' }), contentDigest: 'x' });
  const records = recordsOf(script.fold());

  it('has a record of each thing that happened', () => {
    expect(records.map(({ type }) => type)).toEqual([
      'turn_started',
      'proposal',
      'request',
      'decision',
      'start',
      'outcome',
    ]);
  });

  it('says what the approver was shown, how it came and who is claimed to have said it', () => {
    const argsDigest = digestJson({ n: 1 });
    const shown = { argsDigest, previewDigest: sha256('pay 1') };
    expect(typed(records, 'request')).toMatchObject([{ facts: { call: '1.1', tool: 'pay', ...shown } }]);
    expect(typed(records, 'decision')).toMatchObject([
      {
        turn: 't',
        run: 'r',
        facts: {
          call: '1.1',
          decision: 'modified',
          verdict: 'accepted',
          door: 'update',
          proof: 'claimed',
          ...shown,
          newArgsDigest: digestJson({ n: 2 }),
        },
        sealed: {
          approver: 'ann',
          channel: 'web',
          reason: 'less',
          identity: 'web@host',
          arguments: '{"n":2}',
        },
      },
    ]);
  });

  it('ties what started to what was decided, and says how it ended without its text', () => {
    expect(typed(records, 'start')).toMatchObject([
      { facts: { spends: 'modified', argsDigest: digestJson({ n: 2 }), generation: 0, effect: 'unsafe' } },
    ]);
    expect(typed(records, 'outcome')).toMatchObject([
      { facts: { success: true, resultDigest: sha256('paid'), resultBytes: 4, attempts: 1 }, sealed: {} },
    ]);
    expect(JSON.stringify(records)).not.toContain('paid');
  });
});

it('names the files of a message and of words on the way, never what is in them', () => {
  const file = (name: string) => ({ digest: 'ab'.repeat(32), mediaType: 'image/png', size: 7, name });
  const script = new Script()
    .started('look', { files: [file('cat.png')], session: { sessionId: 'chat', messageId: 'm' } })
    .task()
    .think(1, [run('1.1')]);
  script.done(script.call(run('1.1')), { result: result('1.1'), contentDigest: 'x' });
  script.task().think(2, [], {
    after: { replyId: 'r', count: 0 },
    words: ['and this', 'go on'],
    files: [[file('dog.png')], []],
  });
  const records = recordsOf(script.fold());
  const named = (name: string) =>
    JSON.stringify([{ name, size: 7, sha256: 'ab'.repeat(32), mediaType: 'image/png' }]);
  expect(typed(records, 'turn_started')).toMatchObject([{ sealed: { files: named('cat.png') } }]);
  expect(typed(records, 'words').map(({ facts, sealed }) => ({ ...facts, ...sealed }))).toEqual([
    { step: 2, content: 'and this', files: named('dog.png') },
    { step: 2, content: 'go on' },
  ]);
});

const RULED: CallRuling = { rule: 'small', digest: 'x', then: 'run' };

it.each<[what: string, ruling: CallRuling | undefined, facts: object]>([
  ['a rule that decided', RULED, { policyRule: 'small', policyThen: 'run' }],
  [
    'one that ends',
    { ...RULED, until: '2026-12-24' },
    { policyRule: 'small', policyThen: 'run', policyUntil: '2026-12-24' },
  ],
  ['nothing', undefined, {}],
])('says of a call what the policy rules said: %s', (_what, ruling, facts) => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1', defined({ ruling }))]);
  const [proposal] = typed(recordsOf(script.fold()), 'proposal');
  const { policyRule, policyThen, policyUntil } = proposal?.facts ?? {};
  expect(defined({ policyRule, policyThen, policyUntil })).toEqual(facts);
});

it.each([
  ['the word of a channel that signed the approver in', { authenticated: true }, 'authenticated'],
  ['anything else in its place', { authenticated: 'yes' }, 'claimed'],
])('tells %s', (_what, more, proof) => {
  const decision = { callId: '1.1', decision: 'approved', seenDigest: SEEN, ...more };
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')])
    .update('decide', decision, accepted('1.1', 'approved'));
  expect(recordsOf(script.fold()).at(-1)).toMatchObject({
    facts: { proof, seenDigest: SEEN, argsDigest: digestJson({ n: 1 }) },
  });
});

it.each([
  ['keeps the key by which a vote was accepted, sealed', 'AAAA', true],
  ['leaves out a key that cannot be read', 7, false],
])('%s', (_what, line, isKept) => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')]);
  const key = { person: 'xena', groups: ['finance'], line };
  const roster = { installation: 'i', fileDigest: 'f', lines: [{ decisionId: 'd', ...key }] };
  script.done(script.call(ask('1.1')), { result: result('1.1'), contentDigest: 'x', roster });
  const records = recordsOf(script.fold());
  const facts = { call: '1.1', decisionId: 'd', installation: 'i', fileDigest: 'f' };
  expect(typed(records, 'roster').map((one) => ({ facts: one.facts, sealed: one.sealed }))).toEqual(
    isKept ? [{ facts, sealed: { roster: JSON.stringify(key) } }] : [],
  );
  expect(typed(records, 'outcome')).toHaveLength(1);
});

it.each([
  ['a refused signal', 'stale_args', 'refusal', 'stale_args'],
  ['an accepted one', 'accepted', 'decision', 'accepted'],
])('%s is a record with its verdict', (_what, verdict, type, expected) => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')])
    .signal('approval', { callId: '1.1', decision: 'denied', decisionId: 'd' })
    .verdicts([{ callId: '1.1', verdict, decisionId: 'd', at: 'x' }]);
  expect(recordsOf(script.fold()).at(-1)).toMatchObject({
    type,
    facts: { verdict: expected, of: 'decision', door: 'signal', argsDigest: digestJson({ n: 1 }) },
    sealed: { approver: 'somebody', channel: 'signal' },
  });
});

it('keeps what a stranger sends out of the open facts, or short', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1')]);
  script.signal('approval', { callId: 'x'.repeat(9999), decision: 'approved', channel: 'y'.repeat(1000) });
  script.verdicts([{ callId: 'x', verdict: 'unknown_call', decisionId: 'd', at: 'x' }]);
  const [refusal] = typed(recordsOf(script.fold()), 'refusal');
  expect(JSON.stringify(refusal?.facts).length).toBeLessThan(600);
  expect(refusal?.sealed.channel).toHaveLength(1000);
});

describe.each(recordedFiles)('of a real server, %s', (_name, path) => {
  it('each event has a place of its own, in order', async () => {
    const records = await recordsOfFile(path);
    const places = records.map(({ run: of, event, part }) => `${of} ${event} ${part}`);
    expect(new Set(places).size).toBe(records.length);
    expect(records.map(({ event }) => event)).toEqual(
      records.map(({ event }) => event).toSorted((a, b) => a - b),
    );
  });

  it('each dangerous start comes after a decision that was accepted', async () => {
    const decided = new Set<unknown>();
    for (const { type, facts } of await recordsOfFile(path)) {
      if (['decision', 'resolution'].includes(type)) decided.add(facts['call']);
      if (type === 'start' && facts['spends'] !== undefined) expect(decided).toContain(facts['call']);
    }
  });

  it('no record has more text in the open than ids, names and digests', async () => {
    for (const { facts } of await recordsOfFile(path)) {
      for (const value of Object.values(facts)) expect(String(value)).toMatch(/^[\w.:,@-]*$/);
    }
  });
});

it('a run that came from a reset names the run before it up to there', async () => {
  const [, path = ''] = recordedFiles.find(([name]) => name === 'reset') ?? [];
  const records = await recordsOfFile(path);
  const at = records.findIndex(({ type }) => type === 'reset');
  const [before, after] = [records.slice(0, at), records.slice(at)].map(
    (some) => new Set(some.map((one) => one.run)),
  );
  expect(before?.size).toBe(1);
  expect(after?.size).toBe(1);
  expect(before).not.toEqual(after);
  expect(records[at]).toMatchObject({
    facts: { baseRun: [...(before ?? [])][0], newRun: [...(after ?? [])][0] },
  });
});
