import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Verification } from '../../src/tools/types';
import { SIGNALS } from '../../src/contract/names';
import type { ModelRequest } from '../../src/models/model';
import { defineAgent } from '../../src/tools/define-agent';
import { TransportError } from '../../src/tools/errors';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook, toolTexts } from '../support/script-book';
import { decide, openOf, resolve, scheduledInputs, send, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
const keys: string[] = [];
let fixture: Fixture;

const broken = () => {
  throw new TransportError('the line broke');
};

/** Verifies by the tag of its call. */
const verifying = (answer: Verification | Error) => ({
  verify: (): Verification => {
    if (answer instanceof Error) throw answer;
    return answer;
  },
});

beforeAll(async () => {
  const dangerous = { safety: 'dangerous' } as const;
  const tools = [
    recordTool(effects, { name: 'send', ...dangerous }, (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return keys.length > 0 && idempotencyKey.endsWith(':0') ? broken() : undefined;
    }),
    recordTool(effects, { name: 'unsent', ...dangerous }, () => {
      throw new TransportError('no route', { nothingSent: true });
    }),
    recordTool(
      effects,
      { name: 'did', ...dangerous, ...verifying({ outcome: 'happened', content: 'id 7' }) },
      broken,
    ),
    recordTool(effects, { name: 'did_not', ...dangerous, ...verifying({ outcome: 'did_not' }) }, broken),
    recordTool(effects, { name: 'unsure', ...dangerous, ...verifying({ outcome: 'cannot_tell' }) }, broken),
    recordTool(effects, { name: 'lost', ...dangerous, ...verifying(new Error('no access')) }, broken),
    recordTool(effects, { name: 'note', safety: 'cautious' }),
  ];
  fixture = await startFixture({
    agents: [defineAgent({ name: 'sender', instructions: 'do', model: book.model, tools })],
  });
});

const start = (tag: string, ...names: string[]): Promise<TurnHandle> =>
  fixture.start(
    'sender',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag } })) }, readBack),
  );

/** A turn whose call 1.1 was approved and is in doubt. */
const doubtful = async (tag: string, name = 'send'): Promise<TurnHandle> => {
  const handle = await start(tag, name);
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await waitFor(handle, '1.1', 'in_doubt');
  return handle;
};

test.each([
  [
    'happened',
    { content: 'receipt 7' },
    'ann found that it did take effect. Reason: I looked\n\nreceipt 7',
    0,
  ],
  ['did-not', {}, 'Error [transport]: The call was interrupted. ann found that it did not take effect.', 1],
] as const)('a person resolves a call in doubt: %s', async (resolution, extra, told, failed) => {
  const handle = await doubtful(`resolve ${resolution}`);
  const why = { reason: 'I looked', approver: 'ann' };
  expect(await resolve(handle, { callId: '1.1', resolution, ...extra, ...why })).toMatchObject({
    accepted: true,
  });
  const { answer, counts } = await handle.result();
  expect(answer).toContain(told);
  expect(counts).toMatchObject({ inDoubt: 1, failed });
  expect(await effects.lines(`resolve ${resolution}`)).toHaveLength(1);
});

test('run-again is a new decision: it runs once more, under a new idempotency key', async () => {
  const handle = await doubtful('again');
  const again = { callId: '1.1', resolution: 'run-again', approver: 'bob', decisionId: 'again' } as const;
  const verdict = await resolve(handle, again);
  expect(verdict).toMatchObject({ accepted: true, decision: 'run-again', approver: 'bob' });
  expect((await handle.result()).answer).toContain('send did again');
  expect(await effects.lines('again')).toHaveLength(2);
  const inputs = await scheduledInputs(handle, 'send');
  expect(inputs.map(({ generation }) => generation)).toEqual([0, 1]);
  expect(inputs[1]).toMatchObject({ decision: { decisionId: 'again', approver: 'bob' } });
  const key = String(inputs[0]?.['callKey']);
  expect(keys.slice(-2)).toEqual([`${key}:0`, `${key}:1`]);
});

test('a transport error that proves that nothing was sent is an error result, not a doubt', async () => {
  const handle = await start('unsent', 'unsent');
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('Error [transport]: no route');
  expect(counts).toMatchObject({ inDoubt: 0, failed: 1 });
});

test.each([
  ['did', 'the tool found that it did take effect.\n\nid 7', 0],
  ['did_not', 'Error [transport]: The call was interrupted; the tool found that it did not take effect.', 1],
])('verify settles a doubt by proof: %s', async (name, told, failed) => {
  const handle = await start(`verify ${name}`, name);
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const { answer, counts } = await handle.result();
  expect(answer).toContain(told);
  expect(counts).toMatchObject({ inDoubt: 1, failed });
  expect(await effects.lines(`verify ${name}`)).toHaveLength(1);
});

test.each(['unsure', 'lost'])('verify that cannot tell (%s) leaves the doubt to a person', async (name) => {
  const handle = await doubtful(`cannot tell ${name}`, name);
  await until(
    'verify to answer',
    async () => (await scheduledInputs(handle, 'countersign.verify')).length > 0,
  );
  expect(await resolve(handle, { callId: '1.1', resolution: 'did-not' })).toMatchObject({ accepted: true });
  await handle.result();
  expect(await effects.lines(`cannot tell ${name}`)).toHaveLength(1);
});

/** What only a worker that started the call knows. */
interface Started {
  callKey: string;
  secret: string;
}

const outcome = ({ callKey, secret }: Started, generation = 0) => ({
  callKey,
  generation,
  secret,
  result: {
    ...{ id: 'call_1_1', callId: '1.1', tool: 'send', server: 'local', arguments: {}, success: true },
    ...{ content: 'it went through late', contentType: 'text' },
    metadata: { execution_time_ms: 1, safety_level: 'dangerous', approved: true, attempt: 1, timestamp: '' },
  },
});

const startOf = async (handle: TurnHandle): Promise<Started> => {
  const [input] = await scheduledInputs(handle, 'send');
  return { callKey: String(input?.['callKey']), secret: String(input?.['secret']) };
};

test('an approved call waits while the journal fails, and runs once when it works again', async () => {
  const tools = [recordTool(effects, { name: 'note', safety: 'dangerous' })];
  const own = await startFixture({
    agents: [defineAgent({ name: 'sender', instructions: 'do', model: book.model, tools })],
  });
  const journal = join(own.stateDir, 'journal');
  await rm(journal, { recursive: true, force: true });
  await writeFile(journal, 'a file where the folder should be');
  const asked = { toolCalls: [{ name: 'note', arguments: { tag: 'no journal' } }] };
  const handle = await own.start('sender', book.add(asked, readBack));
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await until('the call to be given back', async () => (await scheduledInputs(handle, 'note')).length > 1);
  expect(await effects.lines('no journal')).toEqual([]);
  await rm(journal);
  expect((await handle.result()).counts).toMatchObject({ calls: 1, failed: 0, inDoubt: 0 });
  expect(await effects.lines('no journal')).toHaveLength(1);
});

test('a late outcome of the same key, generation and secret settles the doubt; anything else does not', async () => {
  const handle = await doubtful('late outcome');
  const started = await startOf(handle);
  for (const bad of [
    null,
    'late',
    outcome({ ...started, callKey: 'other' }),
    outcome({ ...started, secret: 'guessed' }),
    outcome(started, 1),
    { ...started, generation: 0, result: {} },
  ]) {
    await handle.signal(SIGNALS.outcome, bad);
  }
  expect(await decide(handle, { callId: '1.9', decision: 'approved' })).toMatchObject({
    code: 'unknown_call',
  });
  expect(await openOf(handle)).toMatchObject({ count: 1 });
  await handle.signal(SIGNALS.outcome, outcome(started));
  expect((await handle.result()).answer).toBe('it went through late');
});

test('a late outcome of 1.5 MB is cut at 1 MiB, and the turn goes on', async () => {
  const short = (request: ModelRequest) => ({ text: toolTexts(request).join().replace(/x+/g, 'x') });
  const asked = { toolCalls: [{ name: 'send', arguments: { tag: 'huge outcome' } }] };
  const handle = await fixture.start('sender', book.add(asked, short));
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  const report = outcome(await startOf(handle));
  const content = 'it went through late '.padEnd(1_500_000, 'x');
  await handle.signal(SIGNALS.outcome, { ...report, result: { ...report.result, content } });
  const { answer, counts } = await handle.result();
  expect(answer).toMatch(/^it went through late x\n\[cut: it was over 1048576 bytes\]$/);
  expect(counts).toMatchObject({ failed: 0 });
});

test('an outcome after a person resolved changes nothing', async () => {
  const handle = await start('too late', 'send', 'unsent');
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'did-not', approver: 'ann' });
  await handle.signal(SIGNALS.outcome, outcome(await startOf(handle)));
  await decide(handle, { callId: '1.2', decision: 'denied' });
  const { answer } = await handle.result();
  expect(answer).toContain('ann found that it did not take effect');
  expect(answer).not.toContain('it went through late');
});

test('a call in doubt takes resolutions only, and a resolved one takes none', async () => {
  const handle = await doubtful('only resolutions');
  expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({
    code: 'already_decided',
  });
  const refusals: [unknown, string][] = [
    [{ callId: '1.2', resolution: 'happened' }, 'unknown_call'],
    [{ callId: '1.1', resolution: 'maybe' }, 'malformed'],
    [{ callId: '1.1', resolution: 'did-not', content: 'x' }, 'malformed'],
    [{ callId: '1.1', resolution: 'happened', callKey: 'other' }, 'stale_args'],
    [null, 'malformed'],
  ];
  for (const [message, code] of refusals)
    expect(await send(handle, 'resolve', message)).toMatchObject({ code });
  await handle.signal(SIGNALS.resolution, { callId: '1.1', resolution: 'happened', decisionId: 'one' });
  await handle.signal(SIGNALS.resolution, { callId: '1.1', resolution: 'run-again', decisionId: 'two' });
  await handle.result();
  const verdicts = (await verdictsOf(handle)).map(({ verdict }) => verdict);
  expect(verdicts[0]).toBe('accepted');
  expect(await effects.lines('only resolutions')).toHaveLength(1);
});

test('a call in doubt keeps the lane: a later sibling may be decided but does not start', async () => {
  const handle = await start('lane', 'send', 'note', 'unsure');
  await waitFor(handle, '1.3');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await waitFor(handle, '1.1', 'in_doubt');
  const noted = (await effects.lines('lane')).filter((line) => line.startsWith('note'));
  await decide(handle, { callId: '1.3', decision: 'approved' });
  expect(await scheduledInputs(handle, 'unsure')).toEqual([]);
  await resolve(handle, { callId: '1.1', resolution: 'did-not' });
  await waitFor(handle, '1.3', 'in_doubt');
  await resolve(handle, { callId: '1.3', resolution: 'did-not' });
  await handle.result();
  expect(noted).toHaveLength(1);
  expect(await effects.lines('lane')).toHaveLength(3);
});
