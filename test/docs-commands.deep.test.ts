import { readdirSync, readFileSync } from 'node:fs';
import { sawOf } from './cli/saw';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOptions } from '../bench/scale/options';
import { createProgram } from '../src/cli/program';
import { freePorts } from '../src/engine/server-args';
import type { TurnView } from '../src/history/view';
import type { Ended } from './cli/process';
import { root } from './support/build';
import { docCommands, type DocCommand } from './support/docs';
import { listens } from './cli/cli-worker';
import { makePlace, type DocsPlace } from './support/docs-place';
import { until } from './support/until';

let place: DocsPlace;

beforeAll(async () => {
  place = await makePlace();
});

afterAll(() => place.stop());

const BENCH = 'it measures for minutes and wants the machine for itself';
const SCALE = 'it builds a cluster and measures for up to an hour';

const TERMINAL = 'it asks at a terminal; the tests of the terminal type into one';
const OTHERS = 'it tells another machine; the tests of notifying have one of their own';

const QUESTION = 'the agents of this place ask nothing; the tests of answers and of questions do';

const PACKAGE = 'the tests of the package pack it and install it';

const EXAMPLE = 'the test of the example runs it';

const MEMORY = 'the test of the example runs it, with PostgreSQL';

const LISP = 'it needs SBCL; the test of the example asks the same';

const PAUSES =
  'it would hold the calls of every test on this server; the tests of pauses have one of their own';

const GRANTS = 'it would need a call that waits; the tests of grants have their own';

const DOCKER = 'needs Docker; compose.test.ts compares the file with the code';

const KUBERNETES = 'needs a cluster; kubernetes.test.ts checks the manifests against schemas and code';

const GATEWAY = 'it needs a config of its own; the tests of the gateway have one';

const BUILDS = 'it needs workers of two builds; the tests of deploys have them';

/** Lines that are not run here, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm test': 'it is this run',
  'npm run test:cluster': 'builds a cluster for minutes; it has a run of its own',
  'npm run demo': 'the tests of the command line run it, with each answer',
  'npx countersign dev examples/runbook/agent.ts': EXAMPLE,
  'npx countersign dev examples/maintainer/agent.ts': EXAMPLE,
  'npx countersign dev examples/support-desk/agent.ts': EXAMPLE,
  'npx countersign dev examples/support-desk/agent.ts --no-web': EXAMPLE,
  'node examples/own-page/serve.mjs':
    'it ends when it is stopped; the test of server/own-page builds this page',
  'npx countersign dev examples/lisp/agent.ts': LISP,
  "npx countersign run operator 'run bin/status then run bin/rotate-logs 3'": EXAMPLE,
  "npx countersign run maintainer 'make the tests pass'": EXAMPLE,
  "npx countersign run desk 'refund 1001 20.00 because one cup was broken'": EXAMPLE,
  'npm run example -- lisp': LISP,
  'npm run example -- memory': MEMORY,
  'DATABASE_URL=postgres://localhost/countersign npx countersign dev examples/memory/agent.ts': MEMORY,
  "npx countersign run clerk 'remember that I drink tea' --as ann": MEMORY,
  "npx countersign run clerk 'what do you know about me?' --as ann": MEMORY,
  "npx countersign run clerk 'forget that I drink tea' --as ann": MEMORY,
  "npx countersign run lisper 'evaluate (shop:total (list 100 200))'": LISP,
  'npm run bench': BENCH,
  'npm run bench -- --only step,decision': BENCH,
  'npm run bench -- --json': BENCH,
  'npm run bench -- --write': BENCH,
  'npm run bench:scale': SCALE,
  'npm run bench:scale -- --sizes 1000,10000': SCALE,
  'npm run bench:scale -- --sizes 1000,3000 --cached 200': SCALE,
  'npm run bench:scale -- --minutes 30': SCALE,
  'npm run bench:scale -- --write': SCALE,
  'npx countersign mcp gateway files': GATEWAY,
  'npx countersign mcp gateway --http 7300': GATEWAY,
  'npx countersign mcp allow files': GATEWAY,
  'npx countersign mcp gateway files --print claude-code': GATEWAY,
  'npx countersign hook claude-code --print': GATEWAY,
  'npx countersign reset <turn> --before 2.1': TERMINAL,
  'npx countersign approve <turn>/<call> --edit': TERMINAL,
  'npx countersign approve <turn>/<call> --patch': TERMINAL,
  "npx countersign approve --all --tool refund_order --where 'args.cents < 5000'": TERMINAL,
  'npx countersign answer <turn>/<call>': QUESTION,
  'npx countersign answer <turn>/<call> --set city=Rome --set nights=3': QUESTION,
  'npx countersign answer <turn>/<call> --decline --reason "I do not know"': QUESTION,
  'npx countersign review': TERMINAL,
  'npx countersign review --tool refund_order --older-than 1h': TERMINAL,
  'npx countersign watch --notify https://example.org/hook --secret-file hook.secret': OTHERS,
  "npx countersign watch --notify 'jq -r .data.summary | mail -s approval ann@example.org' --before 2h":
    OTHERS,
  'npx countersign watch --channels notify.yaml': OTHERS,
  'npx countersign doctor --send': OTHERS,
  'npx countersign doctor --send people --as ann': OTHERS,
  'npx countersign replay workflow.json --workflows src/workflows.ts':
    'it replays workflows of ones own; the tests of replay have some',
  'node_modules/.bin/countersign worker --build-id 2': BUILDS,
  'npx countersign deploy 2': BUILDS,
  'npx countersign deploy --drain 1': BUILDS,
  "npx countersign pause --tool refund_order --reason 'the bank is down'": PAUSES,
  "npx countersign pause --agent clerk --models --reason 'it writes nonsense'": PAUSES,
  "npx countersign pause --reason 'incident 42'": PAUSES,
  'npx countersign pause': PAUSES,
  'npx countersign approve <turn>/<call> --times 3': GRANTS,
  'npx countersign approve <turn>/<call> --for 30m --range cents=0..5000': GRANTS,
  'npx countersign grants': GRANTS,
  'npx countersign grants <grant>': GRANTS,
  'npx countersign grants <grant> --confirm': GRANTS,
  'npx countersign grants <grant> --revoke': GRANTS,
  'npx countersign grants --revoke --all': GRANTS,
  'npx countersign resume --tool refund_order': PAUSES,
  "npx countersign resume --all --reason 'all is well'": PAUSES,
  'npm install countersign zod': 'it is not on npm yet',
  'npm install @opentelemetry/api @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http':
    'the tests of traces have these packages',
  'npm install @slack/web-api@7 @slack/socket-mode@2': 'the tests of Slack have these packages',
  'npm install web-push@3': 'the tests of web push have this package',
  'npm pack': PACKAGE,
  'npm install ../countersign/countersign-0.1.0.tgz zod': PACKAGE,
  'docker compose up --build --detach': DOCKER,
  'docker compose --profile monitoring up --build --detach': DOCKER,
  'kubectl create secret generic countersign-web-users --from-file users.json': KUBERNETES,
  'kubectl apply --filename deploy/kubernetes': KUBERNETES,
  'kubectl rollout status statefulset/countersign-worker': KUBERNETES,
};

/** How a documented command is run, and what has to come of it. */
interface Rule {
  line: RegExp;
  /** Makes the turn that the placeholder stands for. */
  turn?: () => Promise<string>;
  /** What cannot be typed as it stands, such as the address of somebody's server. */
  fill?: (line: string) => string | Promise<string>;
  /** Runs it; without this it has to end by itself, well. */
  run?: (line: string) => Promise<Ended>;
  /** Something of what is printed. */
  says: RegExp | ((turn: string) => string);
  /** What has come of the turn. */
  then?: (view: TurnView) => unknown;
  leaves?: unknown;
}

const pay = () => place.request({ tool: 'pay', args: { amount: 100 } });
const giveBack = { tool: 'give_back', args: { order: '77', cents: 100 } };
const refund = () => place.request(giveBack);
const secondStep = () => place.request({ tool: 'list_directory', args: {} }, giveBack);

/** Makes the schedule that the page makes with code. */
const withMorning = async (line: string): Promise<string> => {
  const made = { id: 'morning', agent: 'clerk', prompt: 'look for late orders', cron: '0 8 1 1 *' };
  if (line === 'temporal schedule list') await place.client.schedules.add(made);
  return line;
};

const withRules = async (line: string): Promise<string> => {
  await writeFile(join(place.folder, 'policy.yaml'), 'rules: [{ name: all, then: ask }]');
  return line;
};

const lines = (...changed: number[]): string =>
  Array.from({ length: 30 }, (_, n) => `line ${n + 1}${changed.includes(n + 1) ? ' changed' : ''}\n`).join(
    '',
  );

const threeHunks = async (): Promise<string> => {
  await writeFile(join(place.folder, 'files', 'list.txt'), lines());
  return place.request({ tool: 'write_file', args: { path: 'list.txt', content: lines(2, 15, 28) } });
};

const deniedByMistake = async (): Promise<string> => {
  const turn = await secondStep();
  await place.type(`npx countersign deny ${turn}/2.1 --reason "oh"`).ended;
  await place.look(turn, 'answered', ({ status }) => status === 'answered');
  return turn;
};

const deletion = async (): Promise<string> => {
  await writeFile(join(place.folder, 'files', 'old.txt'), 'old\n');
  return place.request({ tool: 'delete_file', args: { path: 'old.txt' } });
};

const inDoubt = async (): Promise<string> => {
  const turn = await place.request({ tool: 'lose', args: {} });
  await place.type(await seen(`npx countersign approve ${turn}/1.1`)).ended;
  await place.look(turn, 'in doubt', ({ inDoubt: open }) => open.length > 0);
  return turn;
};

/** Says no to whatever the turn asks for, as its own output tells how, and lets it end. */
const denied = async (line: string): Promise<Ended> => {
  const running = place.type(line);
  let isOver = false;
  const end = running.ended.finally(() => (isOver = true));
  for (let n = 0; ; n++) {
    const asked = () => [...running.out().matchAll(/countersign deny (\S+)/g)][n]?.[1];
    const call = await until('an end or a request', () => asked() ?? isOver);
    if (call === true) return end;
    await place.type(`npx countersign deny ${call} --reason "only looking"`).ended;
  }
};

/** Looks before it approves: there is no terminal to be asked at. */
const seen = async (line: string): Promise<string> => {
  const target = /approve (\S+)/.exec(line)?.[1] ?? '';
  const cli = (...args: string[]) => place.type(`npx countersign ${args.join(' ')}`).ended;
  return [line, ...(await sawOf(cli, target)), ...(/--(set|args) /.test(line) ? ['--yes'] : [])].join(' ');
};

/** Runs what stays until Ctrl-C. */
const interrupted = async (line: string): Promise<Ended> => {
  const running = place.type(line.replace(/npx|node_modules/, 'exec $&'));
  await listens(running);
  running.signal('SIGINT');
  return running.ended;
};

const onFreePorts = async (line: string): Promise<string> => {
  const [port = 0, uiPort = 0] = await freePorts(2);
  return `unset TEMPORAL_ADDRESS; ${line} --port ${port} --ui-port ${uiPort} --data-dir ${join(place.folder, String(port))}`;
};

const metricsOnFreePort = async (line: string): Promise<string> => {
  const [port, metrics = 0] = await freePorts(2);
  const own = line.replace(/:\d+$/, `:${metrics}`);
  return line.includes('countersign web') ? `${own} --port ${port}` : own;
};

const onFreePort = async (line: string): Promise<string> => {
  const [port = 0] = await freePorts(1);
  const local = line.replace('--host 192.0.2.10', '--host 127.0.0.1').replace(/ --port \d+/, '');
  return `${local} --port ${port}`;
};

/** Asks a web inbox that is open, with the token of somebody who may sign in. */
const askInbox = async (line: string): Promise<Ended> => {
  const [port = 0] = await freePorts(1);
  const added = await place.type('npx countersign web user cleo --json').ended;
  const inbox = place.type(`exec npx countersign web --port ${port}`);
  await listens(inbox);
  const { token }: { token: string } = JSON.parse(added.out);
  const answer = await place.type(
    `TOKEN=${token}; ${line.replace('7243', String(port))} --silent --show-error`,
  ).ended;
  inbox.signal('SIGINT');
  await inbox.ended;
  return answer;
};

const withReply = async (line: string): Promise<string> => {
  await writeFile(join(place.folder, 'reply.json'), JSON.stringify({ text: 'from a file' }));
  return line;
};

/** With the file of channels that the command before said to write. */
const withBrowsers = async (line: string): Promise<string> => {
  await writeFile(
    join(place.folder, 'notify.yaml'),
    `approvers: approvers.yaml\nchannels:\n${/^ {2}browsers:[^]*/m.exec(pushKeys)?.[0]}`,
  );
  return onFreePort(line);
};

/** What `web push-key` printed. */
let pushKeys = '';

/** With a turn that the audit file tells of, and a file of approvers for each year. */
const ofAudited = async (line: string): Promise<string> => {
  if (line.includes('approvers-2025.yaml'))
    await copyFile(join(place.folder, 'approvers.yaml'), join(place.folder, 'approvers-2025.yaml'));
  if (!line.includes('turn-01j9')) return line;
  const text = await readFile(join(place.folder, 'countersign-audit.jsonl'), 'utf8');
  return line.replace('turn-01j9', /"turn":"([^"]+)"/.exec(text)?.[1] ?? '');
};

const here = (line: string): string => line.replace(/TEMPORAL_ADDRESS=\S+ /, '');

const decision = (view: TurnView): unknown => view.calls[0]?.decisions.map((one) => one.decision);
const told = ({ answer }: TurnView): unknown => answer;

/** The first that fits a line is taken. */
const RULES: readonly Rule[] = [
  // Before everything that uses the namespace.
  { line: /^temporal operator namespace create/, says: /agents/ },
  { line: /^temporal operator search-attribute create/, says: /Search attributes have been added/ },
  { line: /^npx countersign init my-agent$/, says: /countersign-[^]*npm install/ },
  { line: /^npx countersign dev /, fill: onFreePorts, run: interrupted, says: /asks first/ },
  {
    line: /countersign worker .*--metrics/,
    fill: metricsOnFreePort,
    run: interrupted,
    says: /asks first/,
  },
  { line: /^npx countersign web --metrics/, fill: metricsOnFreePort, run: interrupted, says: /http:/ },
  { line: /countersign worker /, fill: here, run: interrupted, says: /namespace +agents/ },
  { line: /^npx countersign run clerk /, run: denied, says: /(send_mail|create_file).*[^]*denied by/ },
  { line: /^npx countersign run support /, run: denied, says: /answered/ },
  // In this order: the first message starts the session.
  { line: /^npx countersign send .* --agent support$/, says: /message \S+ is started/ },
  { line: /^npx countersign send /, says: /message \S+ is (started|queued)/ },
  { line: /^npx countersign show support-4711$/, says: /^session support-4711 with support/ },
  { line: /^npx countersign cancel support-4711/, says: /takes no more messages/ },
  { line: /npx countersign inbox$/, fill: here, turn: pay, says: (turn) => `${turn}/1.1` },
  { line: /^npx countersign inbox --decided$/, says: /decided nothing in|^CALL|^DECIDED/ },
  { line: /^npx countersign inbox --tool /, says: /Nothing waits|^CALL/ },
  { line: /^npx countersign list$/, turn: pay, says: (turn) => turn },
  // In this order: each needs the file of the first.
  { line: /^npx countersign approvers init$/, says: /wrote approvers\.yaml/ },
  {
    line: /^npx countersign approvers$/,
    fill: (line) => `${line} agents.ts`,
    says: /is in order: 1 person/,
  },
  { line: /^npx countersign approvers explain /, turn: pay, says: /No approvers file judged this call/ },
  {
    line: /^npx countersign policy\b/,
    fill: (line) => withRules(`${line.replace(/policy( test)?/, '$& agents.ts')} --file policy.yaml`),
    says: /is in order: 1 rule|as decided/,
  },
  { line: /^npx countersign doctor$/, says: /ok +queue countersign/ },
  { line: /^npx countersign doctor --json$/, says: /"name": "transitions"[^]*"name": "priorities"/ },
  {
    line: /^npx countersign approve .*--hunks 1,3/,
    fill: seen,
    turn: threeHunks,
    says: /approved by/,
    then: () => readFile(join(place.folder, 'files', 'list.txt'), 'utf8'),
    leaves: lines(2, 28),
  },
  {
    line: /^npx countersign approve .*--hunks 1\b/,
    fill: seen,
    turn: threeHunks,
    says: /approved by/,
    then: () => readFile(join(place.folder, 'files', 'list.txt'), 'utf8'),
    leaves: lines(2),
  },
  {
    line: /^npx countersign approve .*--set 'argv\.1="5"'/,
    fill: seen,
    turn: () => place.request({ tool: 'run_command', args: { argv: ['echo', '3'] } }),
    says: /approved by/,
    then: told,
    leaves: expect.stringMatching(/^5$/m),
  },
  {
    line: /^npx countersign approve .*(--set cents=|"cents":)(50|1000|1500)\b/,
    fill: seen,
    turn: refund,
    says: /modified by/,
    then: told,
    leaves: expect.stringMatching(/refunded (50|1000|1500) of 77/),
  },
  {
    line: /^npx countersign approve /,
    fill: seen,
    turn: pay,
    says: /approved by/,
    then: told,
    leaves: expect.stringContaining('paid 100'),
  },
  { line: /^npx countersign deny --all /, turn: deletion, says: /denied/ },
  { line: /^npx countersign deny /, turn: pay, says: /denied by/, then: decision, leaves: ['denied'] },
  {
    line: /^npx countersign resolve .*run-again/,
    turn: inDoubt,
    says: /run.again by/,
    then: ({ calls: [call] }) => call?.generation,
    leaves: 1,
  },
  {
    line: /^npx countersign resolve /,
    turn: inDoubt,
    says: /(happened|did.not) by/,
    then: ({ status }) => status,
    leaves: 'answered',
  },
  {
    line: /^temporal workflow (signal|update execute) .*"approved"/,
    turn: pay,
    says: /succeeded|Completed|accepted/i,
    then: told,
    leaves: expect.stringContaining('paid 100'),
  },
  {
    line: /^temporal workflow update execute .*"denied"/,
    turn: pay,
    says: /Completed|accepted/i,
    then: decision,
    leaves: ['denied'],
  },
  {
    line: /^npx countersign web push-key /,
    run: async (line) => {
      const ended = await place.type(line).ended;
      pushKeys = ended.out;
      return ended;
    },
    says: /kind: web-push/,
  },
  {
    line: /^npx countersign web .*--channels /,
    fill: withBrowsers,
    run: interrupted,
    says: /http:\/\/127\.0\.0\.1:\d+/,
  },
  { line: /^npx countersign web( --users users\.json)? user\b/, says: /ann|bea/ },
  { line: /^npx countersign web\b/, fill: onFreePort, run: interrupted, says: /http:\/\/127\.0\.0\.1:\d+/ },
  { line: /^curl .*\/api\/inbox$/, turn: pay, run: askInbox, says: (turn) => turn },
  { line: /^npx countersign export /, turn: secondStep, says: /turn\.json/ },
  { line: /^npx countersign show turn\.json\b/, says: /give_back/ },
  { line: /^npx countersign show /, turn: pay, says: (turn) => `countersign approve ${turn}/1.1` },
  { line: /^npx countersign replay /, turn: pay, says: /replays?\b|Nothing to replay/ },
  {
    line: /^npx countersign fork /,
    turn: secondStep,
    fill: withReply,
    says: /give_back|ask first|from a file/,
  },
  // One rule, so that they are run as they stand on the page: each needs what the ones before left.
  { line: /^temporal schedule /, fill: withMorning, says: /morning|^$|Trigger|toggle|Schedule/i },
  { line: /^npx countersign stats .*--json$/, says: /^\{/ },
  { line: /^npx countersign stats\b/, says: /give_back/ },
  {
    // One rule, so that they are run as they stand on the page: each needs what the ones before left.
    line: /^(npx countersign audit|tail -n 1 countersign-audit\.jsonl)\b/,
    fill: ofAudited,
    says: /countersign-audit|for-the-auditor|^$/,
  },
  { line: /^npx countersign reset .*--yes$/, turn: deniedByMistake, says: (turn) => turn },
  { line: /^openssl rand -base64 32$/, says: /^[A-Za-z0-9+/]{43}=\n$/ },
  { line: /^chmod 600 countersign\.keys$/, fill: (line) => `touch countersign.keys && ${line}`, says: /^$/ },
];

const commands = docCommands();
const settings = commands.filter(({ line }) => line.startsWith('export '));
const ruleOf = ({ line }: DocCommand): Rule | undefined => RULES.find((rule) => rule.line.test(line));
const rank = (command: DocCommand): number => RULES.findIndex((rule) => rule === ruleOf(command));

const runnable = commands
  .filter((command) => !(command.line in NOT_RUN) && !settings.includes(command))
  .sort((a, b) => rank(a) - rank(b));

it.each(runnable)(
  '$line ($pages)',
  async (command) => {
    const rule = ruleOf(command);
    if (rule === undefined)
      throw new Error('nothing here runs this command: add a rule, or a reason to NOT_RUN');
    const turn = (await rule.turn?.()) ?? '';
    const named =
      rule.turn === undefined
        ? command.line
        : command.line.replace('<turn>/<call>', `${turn}/1.1`).replace(/<turn>|<workflow>|turn-01j9/, turn);
    const line = (await rule.fill?.(named)) ?? named;
    const { code, out, err } = await (rule.run?.(line) ?? place.type(line).ended);
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringMatching(/\n\s+at |unexpected/) });
    if (typeof rule.says === 'function') expect(out).toContain(rule.says(turn));
    else expect(out).toMatch(rule.says);
    if (rule.then === undefined) return;
    let left: unknown;
    const look = async (): Promise<boolean> => {
      left = await rule.then?.(await place.client.view(turn));
      return matches(left, rule.leaves);
    };
    // What it left in the end is told, not that it was waited for.
    await until('it', look).catch(() => undefined);
    expect(left).toEqual(rule.leaves);
  },
  120_000,
);

function matches(found: unknown, wanted: unknown): boolean {
  try {
    expect(found).toEqual(wanted);
    return true;
  } catch {
    return false;
  }
}

it('has no rule and no exception for what is documented no more', () => {
  const stale = RULES.filter((rule) => !commands.some((command) => ruleOf(command) === rule));
  expect(stale.map(({ line }) => line.source)).toEqual([]);
  expect(Object.keys(NOT_RUN).filter((line) => !commands.some((command) => command.line === line))).toEqual(
    [],
  );
});

describe('what is not run', () => {
  const scripts: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;

  it.each(Object.keys(NOT_RUN).filter((line) => /^npm (run|test)\b/.test(line)))('%s is a script', (line) => {
    expect(scripts).toHaveProperty([line.replace(/^npm (run )?/, '').replace(/ -- .*/, '')]);
  });

  it.each(Object.keys(NOT_RUN).flatMap((line) => line.match(/^npm run bench -- (--.*)/)?.[1] ?? []))(
    'npm run bench -- %s is understood',
    (words) => {
      const [flag = '', figures] = words.replace('--', '').split(' ');
      const bench = readFileSync(join(root, 'bench', 'main.ts'), 'utf8');
      expect(bench).toMatch(new RegExp(`^ +${flag}: \\{ type: `, 'm'));
      const known = readdirSync(join(root, 'bench', 'figures')).map((file) => file.replace('.ts', ''));
      expect(known).toEqual(expect.arrayContaining(figures?.split(',') ?? []));
    },
  );

  it.each(Object.keys(NOT_RUN).filter((line) => line.startsWith('npm run bench:scale -- ')))(
    '%s is understood',
    (line) => {
      const [, words = ''] = line.split(' -- ');
      expect(() => readOptions(words.split(' '))).not.toThrow();
    },
  );

  it.each(Object.keys(NOT_RUN).filter((line) => /^(npx|node_modules)\b/.test(line)))(
    '%s has flags that are known',
    (line) => {
      const words = line.replace(/^.*?\bcountersign /, '').split(' ');
      const whole = createProgram({ out: process.stdout, err: process.stderr, env: {} });
      const path = [whole];
      for (const word of words)
        path.push(...(path.at(-1)?.commands ?? []).filter((one) => one.name() === word));
      const flags = path.flatMap(({ options }) => options).map(({ long }) => long);
      expect(flags).toEqual(expect.arrayContaining(line.match(/--[a-z-]+/g) ?? []));
    },
  );

  it('takes no flag that Docker does not know', () => {
    const flags = Object.keys(NOT_RUN).flatMap((line) =>
      line.startsWith('docker ') ? line.match(/--\S+/g) : [],
    );
    expect(['--build', '--detach', '--profile', '--wait']).toEqual(expect.arrayContaining(flags));
  });

  it.each(settings)('$line sets what is read', ({ line }) => {
    const [, name = ''] = /^export (\w+)=/.exec(line) ?? [];
    const readers = [
      'src/encryption/keys.ts',
      'src/client/streamed-text.ts',
      'node_modules/@temporalio/envconfig/lib/envconfig-toml.js',
    ];
    const text = readers.map((file) => readFileSync(join(root, file), 'utf8')).join('');
    expect(text).toContain(`'${name}'`);
  });
});
