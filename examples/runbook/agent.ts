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

// If you name no service, it works on a copy of the small one in this folder.
if (!existsSync(SERVICE)) cpSync(join(__dirname, 'service'), SERVICE, { recursive: true });

/** The programs of the runbook. Every other program is refused before a person is asked about it. */
const PROGRAMS = ['bin/status', 'bin/rotate-logs', 'tail', 'df'];

const policy: Policy = ({ tool, arguments: { argv, cwd = '.' } }) => {
  if (tool !== 'run_command') return 'run';
  // In another folder `bin/status` is another program.
  if (cwd !== '.')
    return { decision: 'refuse', reason: 'the runbook works in the folder of the service only' };
  const [program] = Array.isArray(argv) ? argv : [];
  if (typeof program === 'string' && PROGRAMS.includes(program)) return 'ask';
  return { decision: 'refuse', reason: `the runbook knows ${PROGRAMS.join(', ')} and nothing else` };
};

/** Reading is safe. Tools that could change a file are left out, because this agent changes things by commands only. */
const readOnly = createWorkspaceTools({ root: SERVICE }).filter(({ safety }) => safety === 'safe');

/** `run_command`: a program and its arguments, without a shell. A person decides each run, and we never repeat it. */
const shell = createShellTools({ root: SERVICE, timeout: '1 minute' });

export default defineAgent({
  name: 'operator',
  // The runbook is the agent's instructions: change the page, and the agent follows it from the next start.
  instructions: readFileSync(join(SERVICE, 'runbook.md'), 'utf8'),
  // The offline model follows plain words such as `run bin/status then run bin/rotate-logs 3`.
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : offlineModel(),
  tools: [...readOnly, ...shell],
  policy,
});
