import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKeys, readAuditKeyId } from '../../../src/audit/file-key';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { defineTool } from '../../../src/tools/define-tool';
import { fileOf, record } from '../../audit/sample';
import { root } from '../../support/build';
import { scratchDirectory } from '../../support/scratch';
import { decide, signalDecision, verdictsOf, waitFor } from '../../support/turns';
import { startCli, startProgram, type Ended } from '../process';
import { runCli } from '../run-cli';
import { startFixture, type Fixture, type TurnHandle } from '../../support/fixture';
import { until } from '../../support/until';

const directory = scratchDirectory();
let fixture: Fixture;

beforeAll(async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    safety: 'dangerous',
    handler: ({ n }) => `paid ${String(n)}`,
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { n: 500 } }] }, { text: 'done' }]);
  const agents = [defineAgent({ name: 'payer', instructions: 'x', model, tools: [pay] })];
  fixture = await startFixture({ agents, ownServer: {} });
});

const env = (): NodeJS.ProcessEnv => ({
  TEMPORAL_ADDRESS: fixture.address,
  COUNTERSIGN_AUDIT_KEY_FILE: path('countersign-audit.key'),
});
const cli = (...args: string[]): Promise<Ended> => runCli(args, { env: env(), cwd: directory() });
const json = async (...args: string[]) => {
  const { code, out, err } = await cli(...args, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
};
const path = (name = 'countersign-audit.jsonl'): string => join(directory(), name);
const linesOf = (name?: string): Record<string, unknown>[] =>
  readFileSync(path(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

beforeEach(() => {
  const { privatePem, publicPem } = makeKeys();
  writeFileSync(path('countersign-audit.key'), privatePem, { mode: 0o600 });
  writeFileSync(path('countersign-audit.key.pub'), publicPem);
});

it('makes keys of which only the public one is for others', async () => {
  const { key } = await json('audit', 'keys', 'other.key');
  expect(statSync(path('other.key')).mode & 0o777).toBe(0o600);
  expect(readAuditKeyId(readFileSync(path('other.key.pub'), 'utf8'), 'x')).toBe(key);
  expect((await json('audit', 'export', '--until', '2020-01-01', '--key', 'other.key')).records).toBe(0);
});

/** A turn that waits for a decision to pay. */
const waiting = async (): Promise<TurnHandle> => {
  const handle = await fixture.start('payer', 'pay ann');
  await waitFor(handle, '1.1');
  return handle;
};
/** A turn whose payment ann approves. */
const paid = async (): Promise<TurnHandle> => {
  const handle = await waiting();
  await decide(handle, {
    callId: '1.1',
    decision: 'approved',
    approver: 'ann',
    channel: 'web',
    reason: 'agreed',
  });
  await handle.result();
  return handle;
};

it('says who allowed what, what they were shown, and what ran', async () => {
  const handle = await waiting();
  await signalDecision(handle, {
    callId: '1.1',
    decision: 'approved',
    seenDigest: '0'.repeat(64),
    approver: 'eve',
  });
  await until('the refusal', async () => (await verdictsOf(handle)).length > 0);
  await decide(handle, {
    callId: '1.1',
    decision: 'modified',
    arguments: { n: 5 },
    approver: 'ann',
    channel: 'web',
  });
  await handle.result();
  await json('audit', 'export', '--turn', handle.workflowId);
  const records = linesOf().filter(({ turn }) => turn === handle.workflowId);
  expect(records.map(({ type, verdict }) => verdict ?? type)).toEqual([
    'turn_started',
    'proposal',
    'request',
    'stale_args',
    'accepted',
    'start',
    'outcome',
    'turn_ended',
  ]);
  const [, , request, refusal, decision, start] = records;
  const shown = request?.['argsDigest'];
  expect(shown).toMatch(/^[0-9a-f]{64}$/);
  expect(refusal).toMatchObject({ type: 'refusal', argsDigest: shown, door: 'signal', proof: 'claimed' });
  expect(refusal).toMatchObject({ open: { approver: [expect.anything(), 'eve'] } });
  expect(decision).toMatchObject({
    type: 'decision',
    decision: 'modified',
    argsDigest: shown,
    door: 'update',
  });
  expect(start).toMatchObject({ argsDigest: decision?.['newArgsDigest'], spends: 'modified' });
});

it('appends what is new, changes no byte of what was there, and is verified by a pinned key', async () => {
  await paid();
  const first = await json('audit', 'export');
  const before = readFileSync(path());
  expect(await json('audit', 'export')).toMatchObject({ added: 0, records: first.records });
  expect(readFileSync(path())).toEqual(before);
  writeFileSync(path('head.json'), JSON.stringify(linesOf().at(-1)));
  const open = await waiting();
  expect((await json('audit', 'export')).added).toBe(3);
  await decide(open, { callId: '1.1', decision: 'denied', approver: 'bob', reason: 'too much' });
  await open.result();
  const last = await json('audit', 'export');
  expect(readFileSync(path()).subarray(0, before.length)).toEqual(before);
  const verified = await json(
    'audit',
    'verify',
    path(),
    '--key',
    path('countersign-audit.key.pub'),
    '--head',
    'head.json',
  );
  expect(verified).toMatchObject({
    pinned: true,
    records: last.records,
    signed: last.records,
    head: last.head,
  });
});

it('verifies without any server', async () => {
  await json('audit', 'export');
  const alone = { env: { TEMPORAL_ADDRESS: 'localhost:1' }, cwd: directory() };
  const { code, out } = await runCli(['audit', 'verify', 'countersign-audit.jsonl'], alone);
  expect(code).toBe(0);
  expect(out).toContain('every record is as it was written');
  expect(out).toContain('pin yours with --key');
});

it('keeps what an operator’s reset took back', async () => {
  const handle = await paid();
  const { events = [] } = await handle.fetchHistory();
  const decided = events?.find((event) => event.workflowExecutionUpdateAcceptedEventAttributes)?.eventId;
  const task = events?.findLast(
    ({ eventId, workflowTaskCompletedEventAttributes: done }) => done && Number(eventId) < Number(decided),
  );
  const execution = { workflowId: handle.workflowId, runId: (await handle.describe()).runId };
  const { runId } = await fixture.client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: execution,
    reason: 'try again',
    workflowTaskFinishEventId: task?.eventId ?? null,
    requestId: 'reset',
  });
  await waitFor(handle, '1.1');
  await json('audit', 'export', '--turn', handle.workflowId);
  const records = linesOf().filter(({ turn }) => turn === handle.workflowId);
  const types = (run: unknown) => records.filter((one) => one['run'] === run).map(({ type }) => type);
  expect(types(execution.runId)).toEqual(
    expect.arrayContaining(['decision', 'start', 'outcome', 'turn_ended']),
  );
  expect(types(runId)[0]).toBe('reset');
  expect(types(runId)).not.toContain('turn_started');
  const places = records.map(({ run, event, part }) => `${String(run)} ${String(event)} ${String(part)}`);
  expect(new Set(places).size).toBe(places.length);
});

it('goes on after a kill in the middle', async () => {
  const killed = startCli(['audit', 'export'], { env: env(), cwd: directory() });
  await until('the file', () => {
    try {
      return readFileSync(path()).length > 0;
    } catch {
      return false;
    }
  });
  killed.signal('SIGKILL');
  await killed.ended;
  await json('audit', 'export');
  expect(await json('audit', 'verify', path())).toMatchObject({
    records: (await json('audit', 'export')).records,
  });
});

it('takes values out and stays signed; the next export goes on', async () => {
  await paid();
  await json('audit', 'export');
  const { taken } = await json('audit', 'redact', path(), '--fields', 'approver,identity,reason');
  expect(taken).toBeGreaterThan(0);
  expect(readFileSync(path(), 'utf8')).not.toContain('agreed');
  expect(await json('audit', 'verify', path())).toMatchObject({ redacted: taken });
  await paid();
  expect((await json('audit', 'export')).added).toBe(7);
  const whole = await json('audit', 'verify', path());
  expect(whole.redacted).toBe(taken);
  expect(whole.signed).toBe(whole.records);
});

it('exports only the turns of a window', async () => {
  await paid();
  expect(await json('audit', 'export', '--until', '2020-01-01')).toMatchObject({ records: 0 });
  const soon = new Date(Date.now() + 3600_000).toISOString();
  expect(await json('audit', 'export', '--since', '1h', '--until', soon)).not.toMatchObject({ records: 0 });
});

describe('says what is wrong', () => {
  it.each([
    ['an unknown turn', ['export', '--turn', 'no-such-turn'], 4, 'not_found'],
    ['a since that is not a time', ['export', '--since', 'yesterday'], 2, 'usage'],
    ['a folder that is not there', ['export', '--out', 'no/audit.jsonl'], 1, 'file_failed'],
    ['a key that is not there', ['export', '--key', 'no.key'], 2, 'config_invalid'],
    ['a file that is not there', ['verify', 'no.jsonl'], 1, 'file_failed'],
    ['another file', ['verify', 'countersign-audit.key'], 1, 'audit_broken'],
    ['another key', ['verify', 'countersign-audit.jsonl', '--key', 'a'.repeat(64)], 1, 'audit_broken'],
    [
      'a key that is none',
      ['verify', 'countersign-audit.jsonl', '--key', 'countersign-audit.jsonl'],
      2,
      'config_invalid',
    ],
    [
      'a head that is none',
      ['verify', 'countersign-audit.jsonl', '--head', 'countersign-audit.key'],
      1,
      'audit_broken',
    ],
    ['no fields', ['redact', 'countersign-audit.jsonl'], 2, 'usage'],
    ['an unknown field', ['redact', 'countersign-audit.jsonl', '--fields', 'turn'], 2, 'usage'],
  ])('with %s', async (_what, args, code, error) => {
    writeFileSync(path(), `${fileOf([record(1)]).join('\n')}\n`);
    const ended = await cli('audit', ...args);
    expect(ended).toMatchObject({ code, err: expect.stringContaining(`[${error}]`) });
    expect(ended.err).not.toMatch(/\n +at /);
  });

  it('with a key that others can read', async () => {
    chmodSync(path('countersign-audit.key'), 0o640);
    expect(await cli('audit', 'export')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/chmod 600[^]*\[config_invalid\]/),
    });
  });

  it('with keys that are there already', async () => {
    const before = readFileSync(path('countersign-audit.key'));
    expect(await cli('audit', 'keys', 'countersign-audit.key')).toMatchObject({
      code: 1,
      err: expect.stringContaining('[file_failed]'),
    });
    expect(readFileSync(path('countersign-audit.key'))).toEqual(before);
  });

  it('with a record that was changed, and does not go on with it', async () => {
    await paid();
    await json('audit', 'export');
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('"payer"', '"prayer"'));
    expect(await cli('audit', 'verify', path())).toMatchObject({
      code: 1,
      err: expect.stringMatching(/record 1 \(line 2\) is not as it was written[^]*\[audit_broken\]/),
    });
    expect(await cli('audit', 'export')).toMatchObject({
      code: 1,
      err: expect.stringContaining('[audit_broken]'),
    });
  });

  it('with a tail that nobody signed', async () => {
    await paid();
    await json('audit', 'export');
    const lines = readFileSync(path(), 'utf8').split('\n');
    writeFileSync(path(), `${lines.slice(0, 3).join('\n')}\n`);
    expect(await cli('audit', 'verify', path())).toMatchObject({
      code: 1,
      err: expect.stringMatching(/come after the last signed head[^]*\[audit_broken\]/),
    });
    appendFileSync(path(), lines[3]?.slice(0, 50) ?? '');
    await json('audit', 'export');
    await json('audit', 'verify', path());
  });

  it('with a disk that takes no more, and goes on later', async () => {
    await paid();
    const limited = `ulimit -f 1; exec "${process.execPath}" "${join(root, 'bin', 'countersign.js')}" audit export`;
    const { ended } = startProgram(['sh', '-c', limited], { env: env(), cwd: directory() });
    expect(await ended).toMatchObject({
      code: 1,
      err: expect.stringMatching(/too large[^]*\[file_failed\]/),
    });
    await json('audit', 'export');
    await json('audit', 'verify', path());
  });
});
