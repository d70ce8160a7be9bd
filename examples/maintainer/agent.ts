import { execFile } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { createWorkspaceTools, defineAgent, defineTool, openaiCompatible, type Policy } from 'countersign';
import { z } from 'zod';
import { maintainerScript } from './script';

const {
  MODEL,
  MODEL_URL = 'https://api.openai.com/v1',
  REPOSITORY = '.countersign/repository',
} = process.env;

// If you name no repository, it works on a copy of the small one in this folder.
if (!existsSync(REPOSITORY)) cpSync(join(__dirname, 'repository'), REPOSITORY, { recursive: true });

/**
 * Cautious: it runs code of the repository, so each run is logged, but nobody is asked. Pure: after a crash it may run
 * again, because tests change nothing.
 */
const runTests = defineTool({
  name: 'run_tests',
  description: 'Runs all tests of the repository. The first word of the answer is `passed` or `failed`.',
  parameters: z.object({}),
  safety: 'cautious',
  effect: 'pure',
  timeout: '2 minutes',
  handler: (_, { signal }) =>
    new Promise<string>((resolve, reject) => {
      execFile(process.execPath, ['--test'], { cwd: REPOSITORY, signal }, (error, stdout) => {
        // Failing tests are an answer too; only tests that could not run are an error.
        if (error === null) resolve(`passed\n${stdout}`);
        else if (typeof error.code === 'number') resolve(`failed\n${stdout}`);
        else reject(error);
      });
    }),
});

/** Files that say how the repository is built and released are not the agent's to change. */
const OFF_LIMITS = /^(package(-lock)?\.json|\.github\/|\.ci\/|Dockerfile)/;

const policy: Policy = ({ safety, arguments: args }) => {
  const paths = [args['path'], args['from'], args['to']].filter((path) => typeof path === 'string');
  // Normalised first: `./package.json` is the same file.
  const wrong = safety === 'dangerous' && paths.find((path) => OFF_LIMITS.test(posix.normalize(path)));
  return wrong ? { decision: 'refuse', reason: `${wrong} is changed by people only` } : 'run';
};

export default defineAgent({
  name: 'maintainer',
  instructions: `You maintain a small repository. Run the tests before and after a change. Read a file before you edit it.
Propose the smallest change that does it; a person accepts or rejects each part of your diff.`,
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : maintainerScript,
  // Reading and searching run freely; everything that writes asks first. Nothing outside the folder is reached.
  tools: [...createWorkspaceTools({ root: REPOSITORY }), runTests],
  policy,
});
