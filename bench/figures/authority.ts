import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Approvers, parseApprovers } from '../../lib/authority/rules/approvers-file';
import { inboxSigner, openInboxKey } from '../../lib/authority/signatures/inbox-key';
import { openApprovers } from '../../lib/authority/rules/current-file';
import { connect, type Countersign } from '../../lib/client';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { ShownCalls, signableBy } from '../../lib/server/shown-calls';
import { signVote } from '../../lib/server/signer';
import { absolute, alternate, median, type Bench, type Figure, type Measurement } from '../figure';
import { freshId, started } from '../subjects';
import { requestOf, untilStarted } from './decision';

const ROUNDS = 60;
const PEOPLE = 500;
const RULES = 200;
const LOOKS = 1_000;

const INSTALLATION = '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5';

/** Who may decide, by a large file; then a decision that is signed, beside one that is not. */
export const authority: Measurement = {
  name: 'authority',
  run: async (bench) => [who(), await signedDecision(bench)],
};

/** Milliseconds to find the rule of a call and the people that it names. */
function who(): Figure {
  const file = parseApprovers(largeFile(), 'approvers.yaml');
  const times = Array.from({ length: LOOKS }, (_, n) => timeOf(() => look(file, n)));
  return absolute(`who may decide, of ${PEOPLE} people by ${RULES} rules`, median(times), {
    ...{ most: 1, unit: 'ms' },
  });
}

function look(file: Approvers, n: number): void {
  const args = { cents: n * 37, order: `A${n}` };
  const facts = { safety: 'dangerous', effect: 'unsafe' } as const;
  const ruling = file.rulingOn({ agent: 'clerk', tool: `tool_${n % RULES}`, args, ...facts });
  const { people = [] } = file.authorityBy(ruling, ['ann']);
  if (people.length === 0) throw new Error('nobody may decide');
}

function timeOf(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Each tool has a rule of its own, with a condition, for one of fifty groups. */
function largeFile(): string {
  const people = Object.fromEntries(
    Array.from({ length: PEOPLE }, (_, n) => [`person${n}`, { groups: [`group${n % 50}`] }]),
  );
  const rules = Array.from({ length: RULES }, (_, n) => ({
    ...{ name: `rule ${n}`, tools: [`tool_${n}`], when: 'args.cents >= 0 && args.order.startsWith("A")' },
    ...{ then: 'ask', approvers: { any: [`group:group${n % 50}`], need: 2 } },
  }));
  return JSON.stringify({
    ...{ installation: INSTALLATION, people },
    rules: [...rules, { name: 'default', then: 'by_safety' }],
  });
}

/** From a decision sent to the tool running: what the signature of the web inbox and its check add. */
async function signedDecision(bench: Bench): Promise<Figure> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-authority-'));
  const key = await openInboxKey(join(directory, 'inbox.pem'));
  const file = join(directory, 'approvers.yaml');
  writeFileSync(file, smallFile(key.line));
  const taskQueue = freshId('authority');
  const agents = ['plain', 'signed'].map(agentOf);
  const config = defineConfig({
    agents,
    taskQueue,
    stateDir: directory,
    approvers: file,
    log: { calls: false },
  });
  const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
  const client = await connect({ address: bench.address });
  const signer = inboxSigner({ key, approvers: await openApprovers({ file, warn: bench.say }) });
  try {
    const [plain, signed] = await alternate(
      ROUNDS,
      () => decided({ bench, client, taskQueue }, 'plain'),
      () => decided({ bench, client, taskQueue, signer }, 'signed'),
    );
    const [without, withIt] = [median(plain), median(signed)];
    bench.say(`decision → tool running: ${without.toFixed(1)} ms, signed ${withIt.toFixed(1)} ms`);
    return absolute('signed decision → tool running, over one that is not', withIt - without, {
      ...{ most: 10, unit: 'ms' },
    });
  } finally {
    await client.close();
    await worker.stop();
  }
}

interface Deciding {
  bench: Bench;
  client: Countersign;
  taskQueue: string;
  signer?: ReturnType<typeof inboxSigner>;
}

async function decided({ bench, client, taskQueue, signer }: Deciding, agent: string): Promise<number> {
  const prompt = freshId('key');
  const { turn } = await client.start({ agent, prompt, taskQueue });
  await requestOf(bench, turn);
  // As in the web inbox, whose page shows the call before somebody decides it.
  const shown = new ShownCalls();
  const view = await client.view(turn);
  shown.keep(view);
  const { seenDigest = '', callKey = '' } = view.calls[0]?.request ?? {};
  const vote = { callId: '1.1', decision: 'approved', approver: 'anna', seenDigest, callKey } as const;
  return untilStarted(prompt, async () => {
    const signing = { client: signableBy(shown, client, { turn, ...vote }), signer };
    const signature = signer === undefined ? {} : await signVote(signing, { turn, ...vote });
    const answer = await client.decide(turn, { ...vote, ...signature });
    if (answer.status !== 'accepted') throw new Error(`a decision was not taken: ${JSON.stringify(answer)}`);
  });
}

const smallFile = (inboxKey: string): string =>
  JSON.stringify({
    ...{ installation: INSTALLATION, people: { anna: {} }, inboxKeys: [inboxKey] },
    rules: [
      { name: 'plain', tools: ['plain'], then: 'ask', approvers: { any: ['anna'] } },
      {
        name: 'signed',
        tools: ['signed'],
        then: 'ask',
        approvers: { any: ['anna'] },
        assurance: 'signed_in',
      },
      { name: 'default', then: 'by_safety' },
    ],
  });

function agentOf(name: string) {
  const tool = defineTool({
    name,
    description: 'Tells that it runs.',
    parameters: { type: 'object', properties: { key: { type: 'string' } } },
    safety: 'dangerous',
    effect: 'idempotent',
    handler: ({ key }) => void started.get(String(key))?.(),
  });
  const model = scriptedModel([
    ({ messages }) => ({ toolCalls: [{ name, arguments: { key: messages[0]?.content ?? '' } }] }),
    { text: 'done' },
  ]);
  return defineAgent({ name, instructions: 'Do it.', model, tools: [tool] });
}
