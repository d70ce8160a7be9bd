import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createShellTools,
  createWorkspaceTools,
  defineAgent,
  offlineModel,
  openaiCompatible,
  type Policy,
} from 'countersign';

const { MODEL, MODEL_URL = 'https://api.openai.com/v1', SERVICE = '.countersign/service' } = process.env;

// Without a service of yours it works on a copy of the little one in this folder.
if (!existsSync(SERVICE)) cpSync(join(__dirname, 'service'), SERVICE, { recursive: true });

/** What the runbook speaks of. Everything else is refused before a person is bothered with it. */
const PROGRAMS = ['bin/status', 'bin/rotate-logs', 'tail', 'df'];

const policy: Policy = ({ tool, arguments: { argv } }) => {
  if (tool !== 'run_command') return 'run';
  const [program] = Array.isArray(argv) ? argv : [];
  if (typeof program === 'string' && PROGRAMS.includes(program)) return 'ask';
  return { decision: 'refuse', reason: `the runbook knows ${PROGRAMS.join(', ')} and nothing else` };
};

/** Reading is safe; what could change a file is left out, because this agent changes things by commands only. */
const readOnly = createWorkspaceTools({ root: SERVICE }).filter(({ safety }) => safety === 'safe');

/** `run_command`: a program and its words, no shell. Each run is decided by a person and never repeated by us. */
const shell = createShellTools({ root: SERVICE, timeout: '1 minute' });

export default defineAgent({
  name: 'operator',
  // The runbook is what the agent is told: change the page and the agent follows it from the next start on.
  instructions: readFileSync(join(SERVICE, 'runbook.md'), 'utf8'),
  // The offline model follows plain words such as `run bin/status then run bin/rotate-logs 3`.
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  tools: [...readOnly, ...shell],
  policy,
});
