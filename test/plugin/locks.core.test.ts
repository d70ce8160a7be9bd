import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import { type BundleOptions, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { factsToSign, signatureOf, timesToSign } from '../../src/authority/signatures/facts-to-sign';
import { statementOf, statementText } from '../../src/authority/signatures/statement';
import { connect, type Countersign } from '../../src/client';
import { defined } from '../../src/contract/defined';
import { type ActivityGate, CountersignPlugin, type PluginOptions } from '../../src/plugin';
import type { Forged } from '../fixtures/plugin-forging';
import { newSigner } from '../support/ssh';
import { testAddress, testConnection } from '../support/server';
import { until } from '../support/until';
import { WITHOUT_THREADS } from '../support/worker-here';

/** What the activities did outside, by order. */
const paid: string[] = [];
const times = (order: string): number => paid.filter((one) => one === order).length;
const pay = async ({ order }: { order: string }): Promise<string> => {
  paid.push(order);
  return `paid ${order}`;
};
const callTool = async ({ input }: { input: { order: string } }): Promise<string> => pay(input);
const activities = { refund: pay, wire: pay, look: pay, note: pay, callTool };

const ann = newSigner('ssh-ed25519');
const installation = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';
const directory = mkdtempSync(join(tmpdir(), 'countersign-locks-'));
const approvers = join(directory, 'approvers.yaml');
writeFileSync(
  approvers,
  `
installation: '${installation}'
people: { ann: { keys: ['${ann.line}'] }, bob: {} }
rules:
  - { name: own key, tools: [wire, pay_out], agents: [forges], then: ask, approvers: { any: [ann] }, assurance: signed_ssh }
  - { name: default, then: by_safety }
`,
);

const parameters = z.object({ order: z.string() });
const gate: Record<string, ActivityGate> = {
  refund: { parameters },
  wire: { parameters, effect: 'idempotent' },
  look: { parameters, safety: 'safe' },
  callTool: { from: { tool: 'name', arguments: 'input' }, effect: 'idempotent' },
};
let machines = 0;
const pluginWith = (more: Partial<PluginOptions> = {}): CountersignPlugin =>
  new CountersignPlugin({ gate, approvers, stateDir: join(directory, String((machines += 1))), ...more });

/** Whoever may write histories. It is behind our gate, and schedules `forged:<type>` as <type> with a header. */
const forger = {
  name: 'forger',
  configureBundler: (options: BundleOptions): BundleOptions => ({
    ...options,
    workflowInterceptorModules: [...(options.workflowInterceptorModules ?? []), FORGER],
  }),
};
const FORGER = `data:text/javascript;base64,${Buffer.from(
  `import { defaultPayloadConverter as plain } from ${JSON.stringify(require.resolve('@temporalio/common'))};
   const name = 'countersign-gate';
   export const interceptors = () => {
     let last = {};
     const forging = (input, next) => {
       if (input.headers[name]) last = plain.fromPayload(input.headers[name]);
       const [, type] = /^forged:(.*)/.exec(input.activityType) ?? [];
       if (type === undefined) return next(input);
       const [changes, ...args] = input.args;
       const fields = Object.entries({ ...last, ...changes }).filter(([, value]) => value !== null);
       const headers = { [name]: plain.toPayload(Object.fromEntries(fields)) };
       return next({ ...input, activityType: type, args, headers });
     };
     return { outbound: [{ scheduleActivity: forging, scheduleLocalActivity: forging }] };
   };`,
).toString('base64')}`;

const logger = new DefaultLogger('ERROR');
const queue = `locks-${randomUUID()}`;
let native: NativeConnection;
let connection: Connection;
let client: Client;
let countersign: Countersign;
const running = new Set<() => Promise<void>>();

async function startWorker(taskQueue: string, options: object): Promise<() => Promise<void>> {
  const own = { connection: native, ...WITHOUT_THREADS, maxCachedWorkflows: 0 };
  const worker = await Worker.create({ ...own, taskQueue, ...options });
  const ran = worker.run();
  const stop = async (): Promise<void> => {
    running.delete(stop);
    worker.shutdown();
    await ran;
  };
  running.add(stop);
  return stop;
}

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger });
  native = await NativeConnection.connect({ address: testAddress() });
  connection = await testConnection();
  client = new Client({ connection });
  countersign = await connect({ client });
  const workflowsPath = require.resolve('../fixtures/plugin-forging.ts');
  await startWorker(queue, { workflowsPath, activities, plugins: [pluginWith(), forger] });
});

afterAll(async () => {
  await Promise.all([...running].map((stop) => stop()));
  await native.close();
  await connection.close();
  rmSync(directory, { recursive: true, force: true });
});

const start = (type: string, ...args: unknown[]): Promise<WorkflowHandle> =>
  client.workflow.start(type, { args, taskQueue: queue, workflowId: `locks-${randomUUID()}` });

const forge = (first: Forged | null, ...forged: Forged[]) => start('forges', first, forged);

const asked = ({ workflowId }: WorkflowHandle, tool?: string) =>
  until('a request', async () => {
    const [request] = (await countersign.view(workflowId)).requests;
    return request !== undefined && (tool ?? request.tool) === request.tool && request;
  });

const decide = async (handle: WorkflowHandle, more: object = {}): Promise<void> => {
  const { callId, seenDigest } = await asked(handle);
  await countersign.decide(handle.workflowId, {
    callId,
    seenDigest,
    decision: 'approved',
    approver: 'bob',
    decisionId: randomUUID(),
    ...more,
  });
};

/** Ann approves with her key. */
async function sign(handle: WorkflowHandle): Promise<void> {
  await asked(handle);
  const view = await countersign.view(handle.workflowId);
  const [call] = view.calls;
  const { callKey } = call?.request ?? {};
  const said = { decision: 'approved', approver: 'ann', decisionId: randomUUID() } as const;
  const facts = call && factsToSign(view, call, { installation, ...countersign.placeOf(view) });
  const signing = timesToSign(call ?? {}, Date.now());
  const statement = facts && statementOf(facts, { ...said, ...signing });
  const text = (statement && statementText(statement)) ?? '';
  const signature = signatureOf('ssh', ann.sign(text), { text, ...signing });
  await decide(handle, { ...said, ...defined({ callKey, signature }) });
}

const newOrder = (): string => randomUUID();
const call = (type: string, order: string, more: Partial<Forged> = {}): Forged => ({
  ...{ type, args: [{ order }] },
  ...more,
});

/** What each forged call returned or failed with, as a text. */
const saidBy = async (handle: WorkflowHandle): Promise<string> => JSON.stringify(await handle.result());

describe('a forged header', () => {
  it('is believed where names are believed: the rule takes a claim, and a header is one', async () => {
    const order = newOrder();
    const handle = await forge(
      call('refund', order),
      call('refund', order, { header: { callKey: 'other/1.1' } }),
    );
    await decide(handle);
    expect(await saidBy(handle)).toContain(`paid ${order}`);
    expect(times(order)).toBe(2);
  });

  it.each<[string, (order: string) => Forged, string]>([
    ['of a spent decision', (order) => call('refund', order), 'paid'],
    [
      'for other arguments',
      () => call('refund', 'other', { header: { callKey: 'new/1.1' } }),
      'the arguments are not those',
    ],
    [
      'with other arguments and their digest',
      () => call('refund', 'other', { header: { argsDigest: 'x', callKey: 'new/1.1' } }),
      'the arguments are not those',
    ],
    [
      'that says that nobody has to be asked',
      (order) => call('refund', order, { header: { decision: null, callKey: 'new/1.1' } }),
      'it needs a decision and has none',
    ],
    [
      'that names a grant',
      (order) =>
        call('refund', order, {
          header: { decision: null, callKey: 'new/1.1', grant: { id: 'g', digest: 'x', use: 1, of: 9 } },
        }),
      'it needs a decision and has none',
    ],
    [
      'that says that the call is pure',
      (order) => call('refund', order, { header: { effect: 'pure', callKey: 'new/1.1' } }),
      'it was prepared as pure and would run as unsafe',
    ],
    [
      'of another tool, which is safe',
      (order) => call('look', order, { header: { callKey: 'new/1.1' } }),
      'the tool changed',
    ],
    [
      'for an activity that is gated nowhere here',
      (order) => call('note', order),
      'the plugin of this worker does not gate refund',
    ],
    [
      'with a key, and one more argument than anybody was shown',
      (order) => ({ type: 'refund', args: [{ order }, 'all'], header: { hasKey: true, callKey: 'new/1.1' } }),
      'not given its arguments and its key',
    ],
    [
      'of a local activity, which leaves nothing in history before it ran',
      (order) => call('refund', order, { isLocal: true, header: { callKey: 'new/1.1' } }),
      'no gate schedules a call like this',
    ],
  ])('%s starts nothing', async (_, forgedFor, message) => {
    const order = newOrder();
    const handle = await forge(call('refund', order), forgedFor(order));
    await decide(handle);
    expect(await saidBy(handle)).toContain(message);
    expect(times(order)).toBe(1);
    expect(times('other')).toBe(0);
  });

  it('of a safe call does not start a dangerous one', async () => {
    const order = newOrder();
    const handle = await forge(call('look', order), call('refund', order, { header: { effect: 'unsafe' } }));
    expect(await saidBy(handle)).toContain('the tool changed');
    expect(times(order)).toBe(1);
  });
});

describe('where a rule wants signatures, a forged header', () => {
  it.each<[string, Forged['header']]>([
    ['as it was, under another id of the activity', {}],
    ['for another generation', { generation: 1 }],
    ['for another call', { callKey: 'other/1.1' }],
    ['that was given back once', { round: 1 }],
    ['without its rule', { authority: null, callKey: 'other/1.1' }],
    ['with a name in place of the votes', { callKey: 'other/1.1', decision: claimOfAnn() }],
  ])('%s starts nothing more', async (_, header = {}) => {
    const order = newOrder();
    const handle = await forge(call('wire', order), call('wire', order, { header }));
    await sign(handle);
    expect(await saidBy(handle)).toMatch(/askAgain|inDoubt|refused/);
    expect(times(order)).toBe(1);
  });

  it('of another workflow starts nothing', async () => {
    const order = newOrder();
    const handle = await forge(call('wire', order));
    await sign(handle);
    await handle.result();
    const copied = await forge(null, call('wire', order, { header: await headerOf(handle) }));
    expect(await saidBy(copied)).toContain('askAgain');
    expect(times(order)).toBe(1);
  });

  it('cannot take the name of the tool out of the arguments', async () => {
    const order = newOrder();
    const first = { type: 'callTool', args: [{ name: 'lookUp', input: { order } }] };
    const args = [{ name: 'payOut', input: { order } }];
    const handle = await forge(first, { ...first, args }, { ...first, args, header: { hasKey: true } });
    await decide(handle);
    const said = await saidBy(handle);
    expect(said).toContain('the tool changed');
    expect(said).toContain('not given its arguments and its key');
    expect(times(order)).toBe(1);
  });
});

/** The header of the last gated activity in a history. */
async function headerOf(handle: WorkflowHandle): Promise<Record<string, unknown>> {
  const { events } = await handle.fetchHistory();
  const scheduled = events?.map(({ activityTaskScheduledEventAttributes: of }) => of?.header?.fields);
  const { data } = scheduled?.findLast((fields) => fields?.['countersign-gate'])?.['countersign-gate'] ?? {};
  return JSON.parse(Buffer.from(data ?? []).toString());
}

/** A decision of ann's without votes; the digest of what she saw is that of nothing. */
function claimOfAnn(): object {
  return { decisionId: 'd', decision: 'approved', approver: 'ann', seenDigest: 'x' };
}

describe('the worker of the activity looks again', () => {
  const asking = async (own: CountersignPlugin) => {
    const its = `locks-${randomUUID()}`;
    const stop = await startWorker(its, { activities, plugins: [own] });
    const order = newOrder();
    const handle = await start('elsewhere', its, { order });
    await asked(handle);
    await stop();
    return { its, order, handle };
  };

  it.each<[string, Partial<PluginOptions>]>([
    [
      'another schema',
      { gate: { ...gate, refund: { parameters: z.object({ order: z.string().max(99) }) } } },
    ],
    ['another effect', { gate: { ...gate, refund: { parameters, effect: 'idempotent' } } }],
    ['a policy that refuses', { policy: () => ({ decision: 'refuse', reason: 'closed today' }) }],
  ])('a call is refused on a worker with %s', async (_, more) => {
    const { its, order, handle } = await asking(pluginWith());
    await startWorker(its, { activities, plugins: [pluginWith(more)] });
    await decide(handle);
    await expect(handle.result()).rejects.toMatchObject({
      cause: { cause: { type: expect.stringMatching(/^countersign\.(refused|denied)$/) } },
    });
    expect(times(order)).toBe(0);
  });

  it('a name does not count where its approvers file wants signatures, and people are asked again', async () => {
    const { its, order, handle } = await asking(pluginWith());
    const strict = join(directory, 'strict.yaml');
    writeFileSync(
      strict,
      `
installation: '${installation}'
people: { ann: { keys: ['${ann.line}'] }, bob: {} }
rules:
  - { name: default, then: ask, approvers: { any: [ann] }, assurance: signed_ssh }
`,
    );
    await startWorker(its, { activities, plugins: [pluginWith({ approvers: strict })] });
    await decide(handle);
    await until('it to be asked again', async () => {
      const [again] = (await countersign.view(handle.workflowId)).requests;
      return again?.authority?.rule.assurance === 'signed_ssh';
    });
    expect(times(order)).toBe(0);
    await sign(handle);
    expect(await handle.result()).toBe(`paid ${order}`);
    expect(times(order)).toBe(1);
  });
});
