import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { waitForEnd } from '../../src/testing';
import { recordTool } from '../support/effects';
import { waitFor } from '../support/turns';
import { useTestApp } from './test-app';
import type { TurnHandle } from '../support/fixture';
import { until } from '../support/until';

const AGENT = 'inbox-record';
const {
  effects,
  fixture: fixture,
  client,
  app,
  ask,
  start,
} = useTestApp(AGENT, (written) => [
  recordTool(written, { name: 'record_look' }),
  recordTool(written, { name: 'record_pay', safety: 'dangerous' }),
]);

/** A turn that looks, then waits with the payment 2.1. */
const waiting = (tag: string): Promise<TurnHandle> =>
  start(
    [
      { toolCalls: [{ name: 'record_look', arguments: { tag } }] },
      { toolCalls: [{ name: 'record_pay', arguments: { tag, amount: 5 } }] },
    ],
    '2.1',
  );

/** One whose payment was denied. */
const ended = async (tag: string): Promise<string> => {
  const { workflowId: turn } = await waiting(tag);
  const [request] = (await client().view(turn)).requests;
  const { seenDigest, callKey } = z.object({ seenDigest: z.string(), callKey: z.string() }).parse(request);
  await client().decide(turn, {
    ...{ callId: '2.1', decision: 'denied', approver: 'ann' },
    seenDigest,
    callKey,
  });
  await waitForEnd(client(), turn);
  return turn;
};

const fork = async (turn: string, json: object) => {
  const response = await ask(`/api/turns/${turn}/forks`, { json });
  return { status: response.status, body: z.record(z.string(), z.unknown()).parse(await response.json()) };
};

const started = async (turn: string, json: object) => {
  const { status, body } = await fork(turn, json);
  expect([status, body]).toMatchObject([201, { of: turn, turn: expect.stringMatching(/^turn-/) }]);
  return waitForEnd(client(), String(body['turn']));
};

describe('a fork', () => {
  test.each([
    ['with other arguments', { what: 'arguments', arguments: { tag: 'forked', amount: 1 } }, 'would_ask'],
    ['approved after all', { what: 'decision', decision: 'approved' }, 'would_run'],
  ])('%s runs nothing, and says what would have run', async (_name, change, dry) => {
    const turn = await ended('forked');
    const view = await started(turn, { at: '2.1', change });
    expect(view).toMatchObject({ status: 'answered', fork: { of: turn, from: '2.1', world: 'dry' } });
    expect(view.calls[0]?.result?.metadata.dry).toBe(dry);
    expect((await effects.lines('forked')).filter((line) => line.startsWith('record_pay'))).toEqual([]);
  });

  test('that denies does so under who is signed in', async () => {
    const turn = await ended('denied anew');
    const change = { what: 'decision', decision: 'denied', reason: 'too much' };
    const { calls } = await started(turn, { at: '2.1', change });
    expect(calls[0]?.result).toMatchObject({ error: { code: 'denied' } });
    expect(calls[0]?.result?.content).toMatch(/owner.*too much/s);
  });

  test('with another reply ends with it', async () => {
    const turn = await ended('answered');
    const change = { what: 'reply', reply: { text: 'Nothing is due.' } };
    expect(await started(turn, { at: '2', change })).toMatchObject({ answer: 'Nothing is due.' });
  });

  test('that is live asks a person again', async () => {
    const turn = await ended('for real');
    const { status, body } = await fork(turn, { at: '2.1', live: true });
    expect(status).toBe(201);
    const handle = fixture().client.workflow.getHandle(String(body['turn']));
    await waitFor(handle, '2.1');
    expect((await client().view(handle.workflowId)).calls[0]).toMatchObject({
      phase: 'request',
      decisions: [],
    });
    expect((await effects.lines('for real')).filter((line) => line.startsWith('record_pay'))).toEqual([]);
    await client().cancel(handle.workflowId);
  });

  test.each([
    ['at a call that is not there', { at: '7.7' }, 404, 'not_found'],
    ['at what cannot be a call', { at: '<b>' }, 400, 'usage'],
    [
      'that decides on a call that asks nobody',
      { at: '1.1', change: { what: 'decision', decision: 'denied' } },
      409,
      'refused',
    ],
    [
      'with arguments that do not fit',
      { at: '2.1', change: { what: 'arguments', arguments: { tag: 7 } } },
      409,
      'refused',
    ],
    [
      'with an approval that is to be live',
      { at: '2.1', live: true, change: { what: 'decision', decision: 'approved' } },
      409,
      'refused',
    ],
  ])('%s is refused', async (_name, json, status, code) => {
    const answer = await fork(await refused(), json);
    expect(answer).toMatchObject({ status, body: { code } });
  });

  test('of no turn is refused', async () => {
    expect(await fork('no-such-turn', { at: '1.1' })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });
});

let refusedTurn: Promise<string> | undefined;
/** One turn for all forks that are refused. */
const refused = (): Promise<string> => (refusedTurn ??= ended('refused fork'));

describe('a decision that is refused', () => {
  const logged = async (): Promise<Record<string, unknown>[]> =>
    (await readFile(app().refusalsFile, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));

  test('is in the log, without arguments and reasons; one that is accepted is not', async () => {
    const handle = await waiting('logged');
    const turn = handle.workflowId;
    const decide = (json: object): Promise<Response> =>
      ask(`/api/turns/${turn}/decisions`, { json: { callId: '2.1', ...json } });
    const stale = { seenDigest: '0'.repeat(64), callKey: 'old', reason: 'secret words' };
    expect(
      (await decide({ ...stale, decision: 'modified', arguments: { tag: 'secret words' } })).status,
    ).toBe(409);
    const doubt = { callId: '1.1', resolution: 'happened', callKey: 'none' };
    expect((await ask(`/api/turns/${turn}/resolutions`, { json: doubt })).status).toBe(409);
    const [request] = (await client().view(turn)).requests;
    const { seenDigest, callKey } = request ?? {};
    expect((await decide({ decision: 'denied', seenDigest, callKey })).status).toBe(200);
    const head = { namespace: 'default', user: 'owner', turn, agent: 'inbox-record' };
    expect((await logged()).filter((line) => line['turn'] === turn)).toEqual([
      { ...head, at: expect.stringMatching(/Z$/), callId: '2.1', what: 'decision', code: 'stale_args' },
      {
        ...head,
        at: expect.stringMatching(/Z$/),
        callId: '1.1',
        what: 'resolution',
        code: 'already_decided',
      },
    ]);
    expect(JSON.stringify(await logged())).not.toContain('secret');
    expect(app().reported).toEqual([]);
  });
});

test('stats count turns, tools and decisions, and what was refused here', async () => {
  const turn = await ended('counted');
  const late = { callId: '2.1', decision: 'denied', seenDigest: '0'.repeat(64), callKey: 'y' };
  const { status } = await ask(`/api/turns/${turn}/decisions`, { json: late });
  expect(status).toBe(409);
  const read = async (query: string) => {
    const response = await ask(`/api/stats?agent=${AGENT}&${query}`);
    expect(response.status).toBe(200);
    return z
      .object({
        stats: z.looseObject({ tools: z.array(z.looseObject({ tool: z.string() })) }),
        refusals: z.record(z.string(), z.number()),
        isCut: z.boolean(),
        unread: z.number(),
      })
      .parse(await response.json());
  };
  await until('visibility', async () =>
    (await client().list({ agent: AGENT, limit: 500 })).some(
      (one) => one.turn === turn && one.state === 'answered',
    ),
  );
  const { stats, refusals, isCut } = await read('limit=500&since=3600000');
  expect(isCut).toBe(false);
  expect(refusals['already_decided']).toBeGreaterThan(0);
  const pay = stats.tools.find(({ tool }) => tool === 'record_pay');
  expect(pay).toMatchObject({ succeeded: 0, decisions: { approved: 0 } });
  const { decisions } = z
    .object({ decisions: z.object({ denied: z.number(), requests: z.number() }) })
    .parse(pay);
  expect(decisions.denied).toBeGreaterThan(0);
  expect(await read('limit=1')).toMatchObject({ isCut: true, stats: { turns: { count: 1 } } });
  const one = await read('limit=500&tool=record_look');
  expect(one.stats.tools.map(({ tool }) => tool)).toEqual(['record_look']);
});
