import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import type { Answer, Countersign } from '../../src/client';
import type { Decision } from '../../src/contract/decision';
import { createOutbox, type NoticeOutbox } from '../../src/notify/outbox';
import { openSent } from '../../src/notify/sent';
import { createSlack } from '../../src/notify/slack';
import { testNotice } from '../../src/notify/notices';
import type { CallView } from '../../src/history/view';
import { scratchDirectory } from '../support/scratch';
import { until } from '../support/until';
import { call, NOW, question, request, turn } from '../cli/support';
import { APP_TOKEN, BOT_TOKEN, labelsOf, shownIn, startSlackServer, submitOf } from './slack-server';
import type { SlackServer } from './slack-server';
import { notice } from './support';

type SlackSettings = Parameters<typeof createSlack>[0];

const FILE = parseApprovers(
  `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { ann: { slack: UANN }, bob: { slack: UBOB }, vic: { slack: UVIC } }
roles: { admins: [ann], viewers: [vic] }
rules: [{ name: default, then: by_safety }]
`,
  'approvers.yaml',
);

let server: SlackServer;
let now: CallView;
let answer: (decision: Decision) => Answer;
const decisions: Decision[] = [];
const notes: string[] = [];
let stop: AbortController;
let ended: Promise<void> | undefined;

beforeEach(async () => {
  decisions.length = notes.length = 0;
  now = call();
  stop = new AbortController();
  ended = undefined;
  answer = ({ callId, approver = '', decision, decisionId = '' }) => ({
    status: 'accepted',
    verdict: { accepted: true, callId, approver, decision, decisionId, at: new Date().toISOString() },
  });
  server = await startSlackServer();
});
afterEach(async () => {
  jest.restoreAllMocks();
  stop.abort();
  await ended;
  await server.close();
});

// Made after the hook above, so that it is removed after nobody writes there.
const directory = scratchDirectory();

const client: Pick<Countersign, 'view' | 'decide' | 'placeOf'> = {
  view: () => Promise.resolve(turn([now])),
  decide: (_turn, decision) => {
    decisions.push(decision);
    return Promise.resolve(answer(decision));
  },
  placeOf: () => {
    throw new Error('nothing is signed');
  },
};
const open = async (extra: Partial<SlackSettings> = {}): Promise<NoticeOutbox> => {
  const receiver = await createSlack({
    ...{ api: server.api, token: BOT_TOKEN, appToken: APP_TOKEN, page: 'https://inbox.example.org', client },
    postsFile: join(directory(), 'posts.json'),
    targetsOf: () => Promise.resolve(['C1']),
    answers: { client, approvers: () => Promise.resolve(FILE) },
    note: (line) => void notes.push(line),
    ...extra,
  });
  const sent = await openSent(join(directory(), 'sent.json'));
  return createOutbox({
    ...{ receiver, channel: 'team', sent, signal: stop.signal },
    note: (line) => void notes.push(line),
  });
};
const listening = async (): Promise<NoticeOutbox> => {
  const outbox = await open();
  ended = outbox.listen?.();
  await until('a socket', () => server.sockets() === 1);
  return outbox;
};
const first = () => server.messages[0] ?? missing();
const missing = (): never => {
  throw new Error('there is no message');
};
const posts = (): number => server.calls.filter(({ method }) => method === 'chat.postMessage').length;

describe('a message', () => {
  it('is posted once for each request and target, over a restart too', async () => {
    const targetsOf = () => Promise.resolve(['C1', 'UANN']);
    expect(await (await open({ targetsOf })).send([notice('a')], NOW)).toBe(0);
    expect(await (await open({ targetsOf })).send([notice('a')], NOW)).toBe(0);
    expect(server.messages.map(({ channel }) => channel)).toEqual(['C1', 'DANN']);
    expect(labelsOf(first())).toEqual(['Approve', 'Deny', 'Open']);
  });

  it('is found again where its answer was lost, or the record of it', async () => {
    const outbox = await open();
    server.script('chat.postMessage', 'lost');
    expect(await outbox.send([notice('a')], NOW)).toBe(1);
    expect(await outbox.send([notice('a')], NOW + 1000)).toBe(0);
    // As after an end between the two records: what was posted is on record, that it was sent is not.
    writeFileSync(join(directory(), 'sent.json'), '{"version":1,"sent":{}}');
    expect(await (await open()).send([notice('a')], NOW)).toBe(0);
    expect([posts(), server.messages.length]).toEqual([1, 1]);
  });

  it('is posted again where it did not arrive', async () => {
    const outbox = await open();
    server.script('chat.postMessage', 'down', { error: 'internal_error' });
    expect(await outbox.send([notice('a')], NOW)).toBe(1);
    expect(await outbox.send([notice('a')], NOW + 1000)).toBe(1);
    expect(await outbox.send([notice('a')], NOW + 4000)).toBe(0);
    expect([posts(), server.messages.length]).toEqual([3, 1]);
  });

  it('waits as long as Slack says, for all messages', async () => {
    const outbox = await open();
    server.script('chat.postMessage', { limited: 30 });
    expect(await outbox.send([notice('a'), notice('b')], NOW)).toBe(2);
    expect(await outbox.send([notice('a'), notice('b')], NOW + 29_999)).toBe(2);
    expect(posts()).toBe(1);
    expect(await outbox.send([notice('a'), notice('b')], NOW + 30_000)).toBe(0);
    expect(server.messages).toHaveLength(2);
  });

  it('is not posted once the call is decided', async () => {
    now = call({ phase: 'done' });
    expect(await (await open()).send([notice('a')], NOW)).toBe(0);
    expect(server.messages).toEqual([]);
  });

  it.each<[string, Partial<SlackSettings>]>([
    ['an app token', { appToken: undefined as never }],
    ['people', { answers: undefined as never }],
  ])('only links without %s', async (_name, { ...without }) => {
    const outbox = await open(without);
    await outbox.send([notice('a')], NOW);
    expect([labelsOf(first()), outbox.listen]).toEqual([['Open'], undefined]);
  });

  it('is a test where one is wanted, and is not kept', async () => {
    await (await open()).send([testNotice(NOW)], NOW);
    expect(labelsOf(first())).toEqual(['Open']);
  });

  it('changes once the call was decided elsewhere, by a process that did not post it too', async () => {
    await (await open()).send([notice('a')], NOW);
    now = call({ phase: 'done', outcome: 'expired' });
    const outbox = await open();
    server.script('chat.update', { limited: 5 });
    await outbox.send([], NOW);
    expect(first().changes).toBe(0);
    await outbox.send([], NOW + 5000);
    await outbox.send([], NOW + 90_000);
    expect([labelsOf(first()), shownIn(first())]).toEqual([['Open'], expect.stringMatching(/now: expired$/)]);
    expect(first().changes).toBe(1);
  });

  it('changes when its question is answered, and not while it waits', async () => {
    now = question();
    const outbox = await open();
    const about = { ...notice('a'), type: 'question.opened' } as const;
    await outbox.send([about], NOW);
    const noted = jest.spyOn(Map.prototype, 'set');
    await outbox.send([], NOW);
    const looks = new Set<unknown>(noted.mock.contexts.filter((_, n) => noted.mock.calls[n]?.[1] === NOW));
    expect(looks.size).toBe(1);
    expect(first().changes).toBe(0);
    now = question({ phase: 'done', outcome: 'done' });
    const forgotten = jest.spyOn(Map.prototype, 'delete');
    await outbox.send([], NOW + 120_000);
    expect(shownIn(first())).toMatch(/now: answered$/);
    // The time of the last look is forgotten with the message.
    const results = forgotten.mock.results.filter((_, n) => looks.has(forgotten.mock.contexts[n]));
    expect(results).toEqual([{ type: 'return', value: true }]);
  });
});

describe('a click', () => {
  const decidedBy = (approver: string): void => {
    now = call({
      ...{ phase: 'done', outcome: 'done' },
      decisions: [
        {
          ...{
            type: 'decision',
            eventId: 11,
            at: new Date().toISOString(),
            callId: '1.1',
            decision: 'approved',
          },
          ...{ approver, channel: 'slack', decisionId: 'd', judgement: { accepted: true } },
        } as never,
      ],
    });
  };

  it('approves as the person of the file, once, however often Slack repeats it', async () => {
    await (await listening()).send([notice('a')], NOW);
    const pressed = server.press(first(), 'Approve', 'UANN');
    const taken = answer;
    answer = (decision) => {
      decidedBy('ann');
      return taken(decision);
    };
    const envelope = server.send(pressed);
    server.send(pressed, envelope);
    server.send(pressed);
    await until('the change', () => first().changes === 1);
    await until('each acknowledged', () => server.acks.length === 3);
    const { seenDigest, callKey } = request();
    expect(decisions).toEqual([
      {
        ...{ callId: '1.1', decision: 'approved', approver: 'ann', channel: 'slack', seenDigest, callKey },
        decisionId: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    expect(shownIn(first())).toMatch(/now: approved by ann$/);
    server.send({ ...pressed, actions: [{ ...Object(pressed['actions'])[0], action_ts: '9.9' }] });
    await until('the refusal', () => server.whispers.length === 1);
    expect(server.whispers[0]).toEqual({
      ...{ channel: 'C1', user: 'UANN', text: 'This is already decided: approved by ann' },
    });
    expect(decisions).toHaveLength(1);
  });

  it('denies with the reason that a window asks for', async () => {
    await (await listening()).send([notice('a')], NOW);
    server.send(server.press(first(), 'Deny', 'UBOB'));
    const view = await until('the window', () => server.views[0]);
    expect(decisions).toEqual([]);
    server.send(submitOf(view, 'too much', 'UBOB'));
    await until('the decision', () => decisions[0]);
    expect(decisions).toMatchObject([{ decision: 'denied', approver: 'bob', reason: 'too much' }]);
  });

  it.each<[string, string, () => void, RegExp]>([
    ['of somebody who only looks', 'UVIC', () => undefined, /^Refused: .*does not let you decide/],
    ['of a stranger', 'UEVE', () => undefined, /You are not in approvers.yaml.*UEVE/],
    [
      'that the turn refuses',
      'UANN',
      () => (answer = () => refusal('not_allowed', 'ann asked for the turn')),
      /^Refused: ann asked/,
    ],
    [
      'after another decision',
      'UANN',
      () => (answer = () => refusal('already_decided', 'already denied by bob')),
      /^This is already decided: already denied by bob/,
    ],
    [
      'on what is asked about again',
      'UANN',
      () => (now = call({ request: request({ at: '2026-11-21T13:00:00.000Z' }) })),
      /newer message/,
    ],
    [
      'while no worker is there',
      'UANN',
      () => (answer = () => ({ status: 'recorded', decisionId: 'd' })),
      /takes effect if a worker takes it up before the deadline/,
    ],
    [
      'while the server is away',
      'UANN',
      () =>
        (answer = () => {
          throw new Error('no server');
        }),
      /not known whether that counted: no server/,
    ],
  ])('is answered only to who clicked: one %s', async (_name, user, given, expected) => {
    await (await listening()).send([notice('a')], NOW);
    given();
    server.send(server.press(first(), 'Approve', user));
    await until('the answer', () => server.whispers[0]);
    expect(server.whispers[0]).toMatchObject({ channel: 'C1', user, text: expect.stringMatching(expected) });
  });

  it('from elsewhere, or forged, is acknowledged, refused and noted', async () => {
    await (await listening()).send([notice('a')], NOW);
    const pressed = server.press(first(), 'Approve', 'UANN');
    const [action] = Object(pressed['actions']);
    const forged = JSON.stringify({ ...JSON.parse(String(action.value)), digest: 'f'.repeat(64) });
    server.send({ ...pressed, team: { id: 'T2' } });
    server.send({ ...pressed, api_app_id: 'A2' });
    server.send({ ...pressed, container: { channel_id: 'C2', message_ts: first().ts } });
    server.send({ ...pressed, actions: [{ ...action, value: forged, action_ts: '1.1' }] });
    await until(
      'the notes',
      () => notes.filter((line) => /click in Slack by UANN was refused/.test(line)).length === 4,
    );
    await until('each acknowledged', () => server.acks.length === 4);
    expect([decisions, server.whispers]).toEqual([[], []]);
  });

  it('that counts as a vote leaves the buttons and shows who is needed', async () => {
    await (await listening()).send([notice('a')], NOW);
    server.send(server.press(first(), 'Approve', 'UANN'));
    await until('the change', () => first().changes === 1);
    expect(labelsOf(first())).toEqual(['Approve', 'Deny', 'Open']);
  });
});

const refusal = (code: 'not_allowed' | 'already_decided', message: string): Answer => ({
  status: 'refused',
  verdict: { accepted: false, code, message, callId: '1.1' },
});
