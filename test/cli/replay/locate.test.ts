import { locationIn } from '../../../src/cli/replay/locate';

const stackOf = (...frames: string[]): string => ['Error', ...frames.map((at) => `    at ${at}`)].join('\n');

const EVALUATED = 'eval (eval at spin (/app/workflow-bundle.js:9:1), <anonymous>:1:1)';
const SANDBOX = 'Script.runInContext (node:vm:149:12)';
const OURS = 'busy (/app/lib/history/replay/replayer.js:90:3)';

it.each<[string, string[], string | undefined]>([
  ['the innermost line', [EVALUATED, 'spin (src/a.ts:3:5)', 'run (src/b.ts:1:2)', SANDBOX], 'src/a.ts:3:5'],
  ['one of a function without a name', [EVALUATED, 'src/a.ts:3:5', SANDBOX], 'src/a.ts:3:5'],
  [
    'who called a library',
    ['sleep (/app/node_modules/@temporalio/workflow/src/workflow.ts:9:9)', 'run (src/b.ts:1:2)', SANDBOX],
    'src/b.ts:1:2',
  ],
  ['who called Node', ['AsyncHook.init (node:async_hooks:278:5)', 'run (src/b.ts:1:2)'], 'src/b.ts:1:2'],
  ['nothing of what called the sandbox', [EVALUATED, SANDBOX, OURS], undefined],
  ['nothing in an empty stack', [], undefined],
])('names %s', (_, frames, place) => {
  expect(locationIn(stackOf(...frames))).toBe(place);
});
