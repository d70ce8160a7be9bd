import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { addApprovers } from '../../../src/cli/commands/approvers';
import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { digestText } from '../../../src/contract/digest';
import { makeView, type TurnView } from '../../../src/history/view-types';
import { call, request } from '../support';
import { runCommand } from '../command';
import { ensureBuilt } from '../../support/build';
import { newSigner } from '../../support/ssh';
import type { DatedVote } from '../../../src/contract/authority';
import { approversPlugin } from '../../../src/contract/worker-name';

const { WORKER_STATUS_RUNNING } = temporal.api.enums.v1.WorkerStatus;

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'approvers-'));
  file = join(folder, 'approvers.yaml');
});
afterEach(() => rm(folder, { recursive: true }));

const CONFIG = `
const { defineAgent, defineConfig, defineTool } = require('countersign');
const pay = defineTool({ name: 'pay', description: 'pays', safety: 'dangerous', handler: () => 'paid',
  parameters: { type: 'object', properties: { amount: { type: 'integer' } }, additionalProperties: false } });
const clerk = defineAgent({ name: 'clerk', instructions: 'help', model: { id: 'm', generate: async () => ({}) }, tools: [pay] });
module.exports = defineConfig({ agents: [clerk] });
`;

const FILE = `installation: '${'ab'.repeat(16)}'
people:
  anna: { groups: [finance], delegates: [dora] }
  bob: { groups: [finance] }
  dora: {}
  eve: {}
rules:
  - name: large
    tools: [pay]
    when: args.amount > 5
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
    expires: 2 days
    escalate: { after: 1h, to: [eve] }
  - { name: never, when: "args.amount < 0", then: refuse }
  - { name: default, then: by_safety }
`;

describe('explain', () => {
  /** A request as the worker makes it by this file. */
  const asked = (requesters: string[], text = FILE) => {
    const by = parseApprovers(text, 'approvers.yaml');
    const args = { amount: 10 };
    const ruling = by.rulingOn({ agent: 'clerk', tool: 'pay', safety: 'dangerous', effect: 'unsafe', args });
    return request({ tool: 'pay', arguments: args, authority: by.authorityBy(ruling, requesters) });
  };
  const view = (requesters: string[] = ['zoe'], changes: Partial<TurnView> = {}): TurnView => ({
    ...makeView(),
    ...{ turn: 't-1', agent: 'clerk' },
    calls: [call({ request: asked(requesters), tool: 'pay' })],
    ...changes,
  });
  const explain = async (shown: TurnView, ...more: string[]): Promise<string[]> => {
    await writeFile(file, FILE);
    const args = ['approvers', 'explain', 't-1/1.1', '--approvers', file, ...more];
    return (await runCommand(addApprovers, { view: shown }, ...args)).printed;
  };

  it('says which rule fits, who may vote, and who may not and why', async () => {
    expect(await explain(view())).toEqual([
      't-1/1.1 pay',
      'rule       large',
      `file       ${digestText(FILE).slice(0, 12)}`,
      'asked by   zoe',
      'needs      2 approvals, claimed',
      'expires    2 days after it was asked',
      'then asks  eve after 60 min',
      'may vote   anna, bob, dora',
      'may not    eve: is not named by the rule',
    ]);
  });

  it('leaves out who asked and their delegate, and says that too few are left', async () => {
    expect((await explain(view(['ANNA']))).slice(-5)).toEqual([
      'may vote   bob',
      'may not    anna: asked for the turn',
      'may not    dora: is a delegate of who asked for the turn',
      'may not    eve: is not named by the rule',
      'Too few people may vote: nobody can approve it.',
    ]);
  });

  it('says that nobody can vote where nobody knows who asked', async () => {
    const lines = await explain(view([]));
    expect(lines).toContain('asked by   nobody is named');
    expect(lines).toContain('may vote   nobody');
  });

  it('says who decides by the file of the request, and that another one is here', async () => {
    const calls = [call({ request: asked(['zoe'], FILE.replace('need: 2', 'need: 1')), tool: 'pay' })];
    const lines = await explain(view([], { calls }));
    expect(lines).toContain('needs      1 approval, claimed');
    expect(lines[2]).toMatch(/^file {7}[0-9a-f]{12}, when it was asked; the file here is [0-9a-f]{12}$/);
  });

  it('says that anybody may decide what no file judged, whatever file is here', async () => {
    const calls = [call({ request: request({ tool: 'pay' }), tool: 'pay' })];
    expect(await explain(view([], { calls }))).toEqual([
      'No approvers file judged this call when it was asked: anybody may decide here. `countersign approvers init` writes one.',
    ]);
  });

  it('names the way to a file where there is none', async () => {
    const explaining = runCommand(
      addApprovers,
      { view: view() },
      ...['approvers', 'explain', 't-1/1.1', '--approvers', join(folder, 'none.yaml')],
    );
    await expect(explaining).rejects.toMatchObject({ hint: expect.stringContaining('approvers init') });
  });

  describe('with a delegate for a time', () => {
    const explained = async (time: string, votes: DatedVote[] = []): Promise<string[]> => {
      const text = FILE.replace('delegates: [dora]', `delegates: [{ name: dora, ${time} }]`);
      await writeFile(file, text);
      const calls = [call({ request: asked(['zoe@example.org'], text), votes, tool: 'pay' })];
      const shown = view([], { calls });
      const args = ['approvers', 'explain', 't-1/1.1', '--approvers', file];
      return (await runCommand(addApprovers, { view: shown }, ...args)).printed.slice(7);
    };
    const vote = (at: string): DatedVote => ({ voter: 'dora', decision: 'approved', at });

    it.each([
      ['from: 2026-01-01', 'may vote   anna, bob, dora'],
      ['until: 2026-01-01', 'may vote   anna, bob'],
      ['from: 2999-01-01', 'may vote   anna, bob'],
    ])('says who may vote now: %s', async (time, line) => {
      expect((await explained(time))[0]).toBe(line);
    });

    it('counts a vote by the time when it was cast', async () => {
      const [counts, late] = [vote('2026-01-01T12:00:00.000Z'), vote('2026-01-02T00:00:00.000Z')];
      expect((await explained('until: 2026-01-01', [counts]))[0]).toBe('has voted  dora: approved; claimed');
      expect((await explained('until: 2026-01-01', [late]))[0]).toMatch(/it does not count$/);
    });
  });

  it('prints JSON', async () => {
    const [json = ''] = await explain(view(), '--json');
    expect(JSON.parse(json)).toMatchObject({
      ...{ rule: { name: 'large', need: 2 }, mayVote: ['anna', 'bob', 'dora'] },
      ...{ missing: 2, isStuck: false, requesters: ['zoe'], mayNot: [{ name: 'eve', why: 'not_named' }] },
    });
  });

  it.each([
    ['a turn without a call', ['approvers', 'explain', 't-1']],
    ['a call that asked nobody', ['approvers', 'explain', 't-1/1.1']],
  ])('refuses %s', async (_name, args) => {
    await writeFile(file, FILE);
    const { request: _, ...unasked } = call({ phase: 'running' });
    const running = runCommand(
      addApprovers,
      { view: view([], { calls: [unasked] }) },
      ...args,
      '--approvers',
      file,
    );
    await expect(running).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('init and check', () => {
  // The config loads this package as its users do.
  beforeAll(ensureBuilt);

  /** A server whose workers started with these files; without one, no server answers. */
  const serverWith = (...files: (string | undefined)[]) => {
    const workersInfo = files.map((digest, at) => ({
      workerHeartbeat: {
        ...{ workerIdentity: `w${at}`, taskQueue: 'countersign', status: WORKER_STATUS_RUNNING },
        heartbeatTime: { seconds: Math.floor(Date.now() / 1000) },
        workflowPollerInfo: { currentPollers: 1 },
        plugins: [{ name: 'countersign.agent/clerk' }, ...(digest ? [approversPlugin(digest)] : [])],
      },
    }));
    const workflowService = {
      describeTaskQueue: async () => ({}),
      listWorkers: async () => ({ workersInfo }),
    };
    return { connection: { workflowService, withDeadline: (_: number, ask: () => unknown) => ask() } };
  };

  let isNamed = true;
  let server: object | undefined;
  afterEach(() => (server = undefined));
  const check = async (...more: string[]): Promise<string[]> => {
    const config = join(folder, 'countersign.config.js');
    const named = `agents: [clerk], approvers: ${JSON.stringify(file)}`;
    await writeFile(config, isNamed ? CONFIG.replace('agents: [clerk]', named) : CONFIG);
    const args = ['approvers', config, '--approvers', file, ...more];
    return (await runCommand(addApprovers, { client: server }, ...args)).printed;
  };

  it.each<[string, (digest: string) => (string | undefined)[], RegExp]>([
    ['this file', (digest) => [digest, digest], /^The workers started with this file/],
    ['another file', () => ['ab'.repeat(32)], /^The workers started with: abababababab\. /],
    ['two files', (digest) => [digest, undefined], /^The workers started with: [0-9a-f]{12}, none\. /],
    ['no file', () => [undefined], /use no approvers file: anybody may decide\.$/],
    ['nobody knows', () => [], /^No worker has said yet/],
  ])('says which file the workers use: %s', async (_, files, line) => {
    await writeFile(file, FILE);
    server = serverWith(...files(digestText(FILE)));
    expect((await check())[2]).toMatch(line);
    expect(JSON.parse((await check('--json'))[0] ?? '')).toHaveProperty('inForce');
    const { printed } = await runCommand(
      addApprovers,
      { client: serverWith() },
      ...['approvers', 'init', join(folder, 'first.yaml')],
    );
    expect(printed).toContain('No worker has said yet which approvers file it uses.');
  });

  it('needs no server', async () => {
    await writeFile(file, FILE);
    expect((await check())[2]).toMatch(/^No server answers/);
    expect(JSON.parse((await check('--json'))[0] ?? '')).not.toHaveProperty('inForce');
  });

  it('writes a file that is in order, and no second one over it', async () => {
    await runCommand(addApprovers, {}, 'approvers', 'init', file);
    expect(await readFile(file, 'utf8')).toMatch(/^installation: '[0-9a-f]{32}'$/m);
    expect((await check())[0]).toMatch(/approvers.yaml is in order: 1 person, 1 rule$/);
    await expect(runCommand(addApprovers, {}, 'approvers', 'init', file)).rejects.toMatchObject({
      code: 'file_failed',
    });
  });

  it('says that no worker reads a file that the config does not name', async () => {
    const { printed } = await runCommand(addApprovers, {}, 'approvers', 'init', file);
    expect(printed.at(-1)).toMatch(/^No worker reads this file: .* approvers: "/);
    isNamed = false;
    const lines = await check();
    isNamed = true;
    expect(lines.at(-1)).toMatch(/^No worker reads this file: .* approvers: "/);
  });

  it('warns of a rule that has nobody to spare', async () => {
    await writeFile(file, FILE.replace(', delegates: [dora]', ''));
    const [json = ''] = await check('--json');
    expect(Object(JSON.parse(json))['warnings']).toContainEqual(expect.stringMatching(/too few others/));
  });

  it('says what is wrong, by the tools of the config', async () => {
    await writeFile(file, FILE.replace('[pay]', '[pray]'));
    await expect(check()).rejects.toMatchObject({
      code: 'config_invalid',
      message: `${file}:9:13: there is no tool 'pray'`,
    });
  });

  it('warns of four eyes where nobody may know who asked', async () => {
    await writeFile(file, FILE);
    const [json = ''] = await check('--json');
    expect(JSON.parse(json)).toMatchObject({
      people: 4,
      rules: 3,
      warnings: [expect.stringMatching(/^'large'/)],
    });
  });

  it('warns of agents in `visibility` that the config does not have', async () => {
    const warned = async (visibility: string): Promise<unknown> => {
      await writeFile(
        file,
        `${FILE.replace('notRequester: true', 'notRequester: false')}visibility: ${visibility}\n`,
      );
      const [json = ''] = await check('--json');
      return Object(JSON.parse(json))['warnings'];
    };
    expect(await warned('{ anna: all, bob: [clerk] }')).toEqual([]);
    expect(await warned('{ anna: [clerc, clerk], bob: [clerc] }')).toEqual([
      "`visibility` names the agent 'clerc', and this config has no agent of that name",
    ]);
  });

  it('warns of signatures that nobody can give', async () => {
    const key = newSigner('ssh-ed25519').line;
    const warned = async (assurance: string, text = FILE): Promise<unknown> => {
      await writeFile(
        file,
        text.replace('notRequester: true }', `notRequester: false }\n    assurance: ${assurance}`),
      );
      const [json = ''] = await check('--json');
      return Object(JSON.parse(json))['warnings'];
    };
    const withKey = (who: string, text: string): string =>
      text.replace(`${who}: { groups`, `${who}: { keys: ['${newSigner('ssh-ed25519').line}'], groups`);
    expect(await warned('signed_in')).toEqual([expect.stringContaining('names no web inbox')]);
    expect(await warned('signed_in', `inboxKeys: ['${key}']\n${FILE}`)).toEqual([]);
    expect(await warned('signed_ssh')).toEqual([expect.stringContaining('have a key: nobody')]);
    expect(await warned('signed_ssh', withKey('anna', FILE))).toEqual([
      expect.stringMatching(/have a key: anna$/),
    ]);
    expect(await warned('signed_ssh', withKey('bob', withKey('anna', FILE)))).toEqual([]);
  });
});
