import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { connect, type Countersign } from '../../src/client';
import { freePorts } from '../../src/engine/server-args';
import { startWeb } from '../../src/server';
import { defineAgent } from '../../src/tools/define-agent';
import { root } from '../support/build';
import { askedTools, useEffects } from '../support/effects';
import { type Fixture, startFixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { describeWith } from '../support/parts';
import { endInEveryWay } from '../support/turns';
import { until } from '../support/until';

const AGENT = 'scraped';
const alerts = join(root, 'deploy', 'prometheus', 'alerts.yaml');
const dashboard = readFileSync(join(root, 'deploy', 'grafana', 'countersign.json'), 'utf8');
/** The queries of the dashboard, as Grafana sends them. */
const queries = [...dashboard.matchAll(/"expr": (".*")/g)].map(([, text = '']) =>
  z.string().parse(JSON.parse(text)).replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h'),
);

const Answer = z.object({ status: z.literal('success'), data: z.unknown() });
const Vector = z.object({ result: z.array(z.object({ metric: z.record(z.string(), z.string()) })) });
const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          name: z.string(),
          health: z.string(),
          lastError: z.string().optional(),
          alerts: z.array(z.object({ state: z.string(), labels: z.record(z.string(), z.string()) })),
        }),
      ),
    }),
  ),
});

/** A scrape of a second, so that rates have their two samples soon. */
const configOf = (worker: string, web: string): string =>
  JSON.stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [alerts],
    scrape_configs: [
      { job_name: 'countersign-worker', static_configs: [{ targets: [worker] }] },
      { job_name: 'countersign-web', static_configs: [{ targets: [web] }] },
    ],
  });

describeWith('prometheus', 'Prometheus', () => {
  const effects = useEffects();
  const book = scriptBook();
  const agent = defineAgent({
    name: AGENT,
    instructions: 'do',
    model: book.model,
    tools: askedTools(effects),
  });
  /** Starts a turn as people do: the labels of what waits come from its search attributes. */
  const ask = async (name: string): Promise<TurnHandle> => {
    const usage = { inputTokens: 1_000, outputTokens: 500 };
    const prompt = book.add({ toolCalls: [{ name, arguments: { tag: 'x' } }], usage }, readBack);
    const { turn } = await client.start({ agent: AGENT, prompt, taskQueue: fixture.taskQueue });
    return fixture.client.workflow.getHandle(turn);
  };

  let fixture: Fixture;
  let client: Countersign;
  let web: Awaited<ReturnType<typeof startWeb>>;
  let prometheus: ChildProcess;
  let folder: string;
  let api: string;

  const get = async (path: string): Promise<unknown> =>
    Answer.parse(await (await fetch(`${api}/api/v1/${path}`)).json()).data;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-prometheus-'));
    const [worker = '', inbox = '', own = ''] = (await freePorts(3)).map((port) => `127.0.0.1:${port}`);
    api = `http://${own}`;
    fixture = await startFixture({ workers: 0, agents: [agent], prices: { book: { input: 1, output: 1 } } });
    await fixture.addWorker({ metrics: worker });
    client = await connect({ client: fixture.client });
    web = await startWeb({
      ...{ client, metrics: inbox, port: 0, localUser: 'ann', version: '0', pageDir: folder },
      ...{ usersFile: join(folder, 'users.json'), refusalsFile: join(folder, 'refusals.jsonl') },
      ...{ onLink: () => undefined, report: () => undefined },
    });
    const config = join(folder, 'prometheus.json');
    await writeFile(config, configOf(worker, inbox));
    const place = [`--web.listen-address=${own}`, `--storage.tsdb.path=${join(folder, 'data')}`];
    prometheus = spawn('prometheus', [`--config.file=${config}`, ...place], { stdio: 'ignore' });
    await until('Prometheus', () =>
      fetch(`${api}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  afterAll(async () => {
    const over = prometheus.exitCode === null ? once(prometheus, 'exit') : undefined;
    prometheus.kill();
    await over;
    await web.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('scrapes a worker and a web inbox', async () => {
    const Up = z.object({ activeTargets: z.array(z.object({ health: z.string() })) });
    await until('both to be up', async () => {
      const { activeTargets } = Up.parse(await get('targets?state=active'));
      return activeTargets.length === 2 && activeTargets.every(({ health }) => health === 'up');
    });
  });

  it('has something to show in each panel of the dashboard, under every name that it asks for', async () => {
    await endInEveryWay(client, ask);
    expect(queries.length).toBeGreaterThan(10);
    for (const query of queries)
      await until(`something to show of ${query}`, async () => {
        const { result } = Vector.parse(await get(`query?query=${encodeURIComponent(query)}`));
        return result.length > 0;
      });
  });

  it('knows each metric that an alert names', async () => {
    const names = readFileSync(alerts, 'utf8').match(/\b(?:countersign|temporal)_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(5);
    await until('all names', async () => {
      const known = z.array(z.string()).parse(await get('label/__name__/values'));
      return names.every((name) => known.includes(name));
    });
  });

  it('evaluates each alert, and raises those that have a reason', async () => {
    const stateOf = async (name: string, tool: string): Promise<string | undefined> => {
      const rules = Rules.parse(await get('rules')).groups.flatMap(({ rules: some }) => some);
      expect(rules.filter(({ lastError = '' }) => lastError !== '')).toEqual([]);
      if (rules.some(({ health }) => health !== 'ok')) return undefined;
      const own = rules.find((rule) => rule.name === name)?.alerts ?? [];
      return own.find(({ labels }) => labels['agent'] === AGENT && labels['tool'] === tool)?.state;
    };
    await until(
      'the expired request',
      async () => (await stateOf('CountersignRequestsExpire', 'brief')) === 'firing',
    );
    // It fires only once somebody had five minutes to look.
    await until(
      'the call in doubt',
      async () => (await stateOf('CountersignCallInDoubt', 'hang')) === 'pending',
    );
    const Alerts = z.object({ alerts: z.array(z.object({ labels: z.record(z.string(), z.string()) })) });
    const raised = Alerts.parse(await get('alerts')).alerts.map(({ labels }) => labels['alertname']);
    expect(raised).not.toContain('CountersignWorkerDown');
  });
});
