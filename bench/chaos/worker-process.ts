/** A worker of the random kills. Arguments: the server, the ledger, a folder for its state, and the lock of its MCP server. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  agentTool,
  defineAgent,
  defineConfig,
  defineTool,
  scriptedModel,
  startWorker,
} from '../../lib/index';
import type { Model } from '../../lib/index';
import { mcpServers, QUEUE, readScript } from './script';

const [, , address = '', ledger = '', stateDir = '', mcpLock = ''] = process.argv;

const parameters = { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] };

interface Kind {
  safety: 'safe' | 'cautious' | 'dangerous';
  effect: 'pure' | 'idempotent' | 'unsafe';
}

/** A tool whose start is a line of the ledger before it works. */
function writing(name: string, kind: Kind) {
  return defineTool({
    ...{ name, description: `Writes ${name}.`, parameters, heartbeat: '4s', ...kind },
    handler: async ({ tag }, { idempotencyKey, signal }) => {
      appendFileSync(ledger, `${Date.now()} ${name} ${String(tag)} ${idempotencyKey} ${process.pid}\n`);
      await delay(Math.random() * 400, undefined, { signal });
      return 'done';
    },
  });
}

/** Follows the script that the last message of a person is. */
const model: Model = {
  id: 'chaos',
  generate: (request) => {
    const at = request.messages.findLastIndex(
      ({ role, content }) => role === 'user' && readScript(content) !== undefined,
    );
    const messages = request.messages.slice(at);
    const steps = readScript(messages[0]?.role === 'user' ? messages[0].content : '') ?? [];
    return scriptedModel([...steps, { text: 'done' }]).generate({ ...request, messages });
  },
};

const tools = [
  writing('look', { safety: 'safe', effect: 'pure' }),
  writing('put', { safety: 'cautious', effect: 'idempotent' }),
  writing('note', { safety: 'cautious', effect: 'unsafe' }),
  writing('pay', { safety: 'dangerous', effect: 'unsafe' }),
  writing('transfer', { safety: 'dangerous', effect: 'unsafe' }),
  agentTool('step', { name: 'delegate', description: 'Gives a task to another one.' }),
  'ledger__act',
];

async function main(): Promise<void> {
  process.once('disconnect', () => process.exit(1));
  const agents = (['step', 'gate'] as const).map((durability) =>
    defineAgent({ name: durability, instructions: 'Do it.', model, tools, durability }),
  );
  const config = defineConfig({
    ...{ agents, taskQueue: QUEUE, stateDir, mcpServers: mcpServers(ledger), mcpLock },
    mcpTools: { ledger__act: { safety: 'cautious', effect: 'unsafe' } },
    log: { calls: false },
  });
  const workflowBundle = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');
  await startWorker({ config, address, workflowBundle, logLevel: 'ERROR' });
  process.send?.('ready');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
