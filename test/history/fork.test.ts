import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PreparedCall } from '../../src/contract/call';
import { digestText } from '../../src/contract/digest';
import { LIMITS } from '../../src/contract/limits';
import { DROPPED_OUTPUT } from '../../src/contract/transcript';
import { utf8Bytes } from '../../src/contract/text/bytes';
import { startOf, type TurnInput } from '../../src/contract/turn';
import { makeDecode } from '../../src/history/decode/decode';
import type { DecodedEvent } from '../../src/history/decode/events';
import { type ForkRequest, planFork } from '../../src/history/fork';
import { forkRecordOf, startedIn, type ForkRecord } from '../../src/history/fork-record';
import { parseExport } from '../../src/history/exported';
import { decodeRuns } from '../../src/history/read';
import { accepted, ask, item, result, run, Script } from './script';

const NOW = { now: Date.parse('2026-02-01T00:00:00.000Z'), replyId: 'fresh', taskQueue: 'mine' };

const plan = (script: Script, request: ForkRequest): TurnInput =>
  planFork(forkRecordOf([script.events]), request, NOW);

const givenOf = ({ fork }: TurnInput): readonly PreparedCall[] => fork?.given?.calls ?? [];

const kinds = (input: TurnInput): string[] => givenOf(input).map(({ callId, kind }) => `${callId} ${kind}`);

const AMOUNT = { type: 'object', properties: { n: { type: 'number', maximum: 10 } }, required: ['n'] };

/** Looks, notes and asks to pay twice; the first payment is denied, the second one approved and done. */
const turn = (): Script => {
  const [look, note] = [run('1.1'), run('1.2', { tool: 'note' })];
  const script = new Script().started().task();
  script.think(1, [look, note, ask('1.3'), ask('1.4')]);
  script.open([item('1.3'), item('1.4')]);
  script.done(script.call(look), { result: result('1.1', { content: 'seen' }) });
  script.update('decide', { callId: '1.3', decision: 'denied', reason: 'no' }, accepted('1.3', 'denied'));
  script.update('decide', { callId: '1.4', decision: 'approved' }, accepted('1.4', 'approved'));
  script.done(script.call(ask('1.4')), { result: result('1.4', { content: 'paid' }) });
  script.done(script.call(note), { result: result('1.2', { content: 'noted' }) });
  return script;
};

test.each<[string, string[]]>([
  ['1.1', ['1.1 remote', '1.2 remote', '1.3 remote', '1.4 remote']],
  ['1.3', ['1.1 recorded', '1.2 remote', '1.3 remote', '1.4 remote']],
  ['1.4', ['1.1 recorded', '1.2 remote', '1.3 recorded', '1.4 remote']],
  ['1.2', ['1.1 recorded', '1.2 remote', '1.3 recorded', '1.4 recorded']],
])('at %s: what was settled before is taken, the rest is prepared anew', (at, expected) => {
  const input = plan(turn(), { at });
  expect(kinds(input)).toEqual(expected);
  expect(input).toMatchObject({ agent: 'a', fork: { of: 't', from: at, world: 'dry' } });
  expect(input.fork?.given?.replyId).toBe('fresh');
});

test('who forks a turn, and everybody whose words it read, asked for what the fork does', () => {
  const { origin } = plan(turn().think(2, [run('2.1')]), { at: '2', by: 'eve' });
  expect(origin?.others).toEqual(expect.arrayContaining(['ann', 'eve']));
});

test.each<[string, string[]]>([
  ['1.1', []],
  ['1.2', ['memory']],
  ['2.1', ['memory', 'files']],
  ['2', ['memory', 'files']],
])('at %s: state that calls had used before is lost', (at, groups) => {
  const withState = (callId: string, group: string) => {
    const call = run(callId);
    return { ...call, settings: { ...call.settings, state: { scope: 'turn' as const, group } } };
  };
  const calls = [withState('1.1', 'memory'), withState('1.2', 'files')];
  const script = new Script().started().task().think(1, calls);
  for (const call of calls)
    script.done(script.call(call), { result: result(call.callId, { content: 'seen' }) });
  script.think(2, [withState('2.1', 'memory'), withState('2.2', 'unused')], {
    results: calls.map(({ callId }) => ({ callId, digest: 'd', success: true })),
  });
  const states = plan(script, { at }).carried?.states ?? [];
  expect(states.map(([key, known]) => [JSON.parse(key), known])).toEqual(
    groups.map((group) => [['turn', group, ''], { lost: true }]),
  );
});

test('state that the session had before the turn is lost', () => {
  const held = { holder: { queue: 'countersign-worker:1@here:a', begunBy: 'k:1.1:0', runId: 'r' } };
  const key = JSON.stringify(['session', 'memory', '']);
  const script = new Script()
    .started('go', { sessionStates: [[key, held]] })
    .task()
    .think(1, [run('1.1')]);
  expect(plan(script, { at: '1.1' }).carried?.states).toEqual([[key, { lost: true }]]);
});

test('a fork of a child turn says what led to that, in its memo too, and so does a fork of the fork', () => {
  const lineage = [{ turn: 'parent', callId: '1.1', agent: 'boss' }];
  const forkOf = (input: object): TurnInput =>
    plan(
      new Script()
        .started('go', input)
        .task()
        .think(1, [run('1.1')]),
      { at: '1.1' },
    );
  const fork = forkOf({ lineage });
  expect(fork.lineage).toBeUndefined();
  expect(fork.fork?.lineage).toEqual(lineage);
  expect(startOf(fork, 'go').memo).toMatchObject({ fork: { lineage } });
  const again = forkOf({ fork: { of: 'child', from: '1.1', world: 'dry', lineage } });
  expect(again.fork?.lineage).toEqual(lineage);
  expect(forkOf({}).fork).not.toHaveProperty('lineage', expect.anything());
});

test('a denial is taken with the words the model read', () => {
  const [, , third] = givenOf(plan(turn(), { at: '1.4' }));
  expect(third).toMatchObject({
    result: { success: false, content: 'Error [denied]: ann denied this call: no. Nothing ran.' },
  });
});

test('only in a live world do calls that were started need a person first', () => {
  const first = (world: 'dry' | 'live', at: string) =>
    givenOf(plan(turn(), { at, world })).find(({ callId }) => callId === at);
  expect(first('live', '1.2')).toMatchObject({ askFirst: 'it was started once already, in t' });
  expect(first('dry', '1.2')).not.toHaveProperty('askFirst', expect.anything());
  expect(first('live', '1.3')).not.toHaveProperty('askFirst', expect.anything());
});

test.each<[string, ForkRequest, string]>([
  ['a call that is not there', { at: '1.9' }, 'not_found'],
  ['a step that is not there', { at: '3' }, 'not_found'],
  ['no place', { at: '' }, 'not_found'],
  ['arguments of a step', { at: '1', change: { what: 'arguments', arguments: {} } }, 'refused'],
  [
    'a decision on a call that asks nobody',
    { at: '1.1', change: { what: 'decision', decision: 'denied', approver: 'x' } },
    'refused',
  ],
  [
    'arguments that are too large',
    { at: '1.3', change: { what: 'arguments', arguments: { text: 'x'.repeat(LIMITS.argumentsBytes) } } },
    'refused',
  ],
  [
    'a reply of too many calls',
    { at: '1', change: { what: 'reply', reply: { calls: Array(65).fill({ tool: 'look' }) } } },
    'refused',
  ],
])('%s is refused', (_, request, code) => {
  expect(() => plan(turn(), request)).toThrow(expect.objectContaining({ code }));
});

test('arguments are checked against the schema that is on record', () => {
  const script = new Script().started().task();
  const schemas = { t1: AMOUNT };
  const scheduledEventId = script.thinkScheduled(1);
  const reply = { replyId: 'r', text: '', model: 'm', finishReason: 'stop', order: 'lane', maxSteps: 50 };
  script.add({
    kind: 'activity_completed',
    scheduledEventId,
    result: { ...reply, schemas, calls: [ask('1.1')] },
  });
  const change = (n: unknown) => ({ what: 'arguments', arguments: { n } }) as ForkRequest['change'];
  const fork = (n: unknown) => plan(script, { at: '1.1', ...{ change: change(n) } } as ForkRequest);
  expect(givenOf(fork(5))).toMatchObject([{ kind: 'remote', raw: '{"n":5}', taskQueue: 'mine' }]);
  expect(() => fork(11)).toThrow(
    expect.objectContaining({ message: expect.stringContaining('do not fit pay: /n') }),
  );
});

test('while a call of the step runs, how it ended cannot be taken', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1'), ask('1.2')]);
  script.call(run('1.1'));
  script.open([item('1.2')]);
  for (const at of ['1.1', '1.2'])
    expect(() => plan(script, { at })).toThrow(expect.objectContaining({ code: 'refused' }));
});

test('a step that the model is asked for anew begins with what it was asked before', () => {
  const script = turn();
  script
    .task()
    .thinkScheduled(2, { results: [{ callId: '1.1', digest: digestText('seen'), success: true }] });
  const second = plan(script, { at: '2' });
  expect(second.fork).not.toHaveProperty('given', expect.anything());
  expect(second.carried).toMatchObject({ step: 1, results: [{ callId: '1.1' }] });
  expect(second.carried?.transcript.map(({ kind }) => kind)).toEqual([
    'words',
    'reply',
    ...Array<string>(3).fill('result'),
  ]);
  expect(second.prompt).toBe('');
  expect(plan(script, { at: '1' })).toMatchObject({ prompt: 'go', carried: { step: 0, transcript: [] } });
});

/** A turn whose single output is so long. */
const long = (bytes: number): Script => {
  const script = new Script().started().task();
  for (let step = 1; step <= 3; step++) {
    script.think(step, [run(`${step}.1`)]);
    const content = String(step).repeat(bytes);
    script.done(script.call(run(`${step}.1`)), { result: result(`${step}.1`, { content }) });
  }
  return script;
};

test('a record over the limit gives up its oldest outputs, and is refused where that is not enough', () => {
  const input = plan(long(1_000_000), { at: '3.1' });
  expect(utf8Bytes(JSON.stringify(input))).toBeLessThanOrEqual(LIMITS.forkInputBytes);
  const outputs = (input.carried?.transcript ?? []).flatMap((entry) =>
    entry.kind === 'result' ? [entry.content] : [],
  );
  expect(outputs[0]).toBe(DROPPED_OUTPUT);
  expect(outputs[1]).toHaveLength(1_000_000);
  const args = { text: 'x'.repeat(2_000_000) };
  const script = new Script()
    .started()
    .task()
    .think(1, [run('1.1', { arguments: args })]);
  expect(() => plan(script, { at: '1.1' })).toThrow(expect.objectContaining({ code: 'refused' }));
});

const folder = join(__dirname, '..', 'histories');
const files = readdirSync(folder).map((name) => join(folder, name));
const eventsOf = async (file: string): Promise<readonly DecodedEvent[]> => {
  const source = { decode: makeDecode(), namespace: 'default' };
  const [run = []] = await decodeRuns(source, parseExport(readFileSync(file, 'utf8')));
  return run;
};

const placesOf = ({ steps }: ForkRecord): string[] =>
  [...steps.values()].flatMap(({ step, reply }) => [
    String(step),
    ...(reply?.calls ?? []).map(({ callId }) => callId),
  ]);

test.each(files)('%s: at every call the messages are those that the model saw', async (file) => {
  const record = forkRecordOf([await eventsOf(file)]);
  expect(placesOf(record).length).toBeGreaterThan(0);
  for (const at of placesOf(record)) {
    const { carried, fork } = planFork(record, { at, world: 'live' }, NOW);
    const contents = (carried?.transcript ?? []).flatMap((entry) => (entry.kind === 'result' ? [entry] : []));
    for (const { callId, digest } of carried?.results ?? [])
      expect(digestText(contents.find((entry) => entry.callId === callId)?.content ?? '')).toBe(digest);
    for (const call of fork?.given?.calls ?? []) {
      expect(['recorded', 'remote']).toContain(call.kind);
      if (call.kind === 'remote' && startedIn(record.events).has(call.callId))
        expect(call.askFirst).toBeDefined();
    }
  }
});

test.each<[string, (events: readonly DecodedEvent[]) => DecodedEvent[], string, string]>([
  ['cut at its beginning', (events) => events.slice(1), 'bad_history', 'its beginning is missing'],
  [
    'of another application',
    ([first, ...rest]) => [{ ...first, workflowType: 'order' } as DecodedEvent, ...rest],
    'bad_history',
    'of the workflow "order"',
  ],
  [
    'that cannot be read',
    ([first, ...rest]) => [{ ...first, input: undefined } as DecodedEvent, ...rest],
    'bad_history',
    'is it encrypted?',
  ],
  ['without events', () => [], 'bad_history', 'its beginning is missing'],
])('a history %s is refused', async (_, change, code, words) => {
  const events = await eventsOf(join(__dirname, '..', 'histories', 'approved.json'));
  const error = expect.objectContaining({ code, message: expect.stringContaining(words) });
  expect(() => forkRecordOf([change(events)])).toThrow(error);
});
