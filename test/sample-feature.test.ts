import { Hono } from 'hono';
import { buildSync } from 'esbuild';
import { type StartCheck, whatStops } from '../src/activities/start-checks';
import { startingCall } from '../src/activities/start-checks/starting-call';
import { createProgram } from '../src/cli/program';
import type { Env } from '../src/server/deps';
import { ROUTES, type Routes } from '../src/server/routes';
import { defineTool } from '../src/tools/define-tool';
import { parseRoute } from '../src/web/model/route';
import { workerWith } from './activities/fake-worker';
import { createTestApp, unreachable } from './server/support';
import { root } from './support/build';
import { PAY_INPUT } from './support/calls';
import { runtimeOf } from './support/turn-runtime';
import { endWorkflow, WorkflowUnderTest } from './support/workflow';
import { inputOfNext } from '../src/workflows/continue-turn';
import { carriedBy, firstOf, STEP_HOOKS } from '../src/workflows/step-hooks';
import { makeTurn, type StepHook, type TurnEnding } from '../src/workflows/turn-state';

afterEach(endWorkflow);

/** A feature that no file of the core knows: each seam takes it by one entry in a list. */
describe('a sample feature', () => {
  it('adds a check before a call starts', async () => {
    const asked: string[] = [];
    const sample: StartCheck = async ({ input }) => {
      asked.push(input.tool);
      return input.tool === 'pay' ? { failure: { code: 'refused', message: 'a sample' } } : undefined;
    };
    const other = defineTool({
      name: 'other',
      description: 'x',
      safety: 'safe',
      parameters: { type: 'object' },
      handler: () => '',
    });
    const worker = workerWith({ tools: [other] });
    const stop = await whatStops(startingCall(worker, PAY_INPUT), worker, [sample, sample]);
    expect(stop).toEqual({ failure: { code: 'refused', message: 'a sample' } });
    expect(asked).toEqual(['pay']);
  });

  it('adds a hook of the steps of a turn', async () => {
    const turn = makeTurn({ agent: 'sampled', prompt: 'go' }, 'r');
    const sample: StepHook = {
      before: async ({ agent }) => ({ status: 'budget', why: `a sample of ${agent}` }),
      closes: () => 'withdrawn',
      carry: ({ agent }) => ({ step: agent.length }),
    };
    const hooks = [...STEP_HOOKS, sample];
    let ending: TurnEnding | undefined;
    await WorkflowUnderTest.start(async () => {
      ending = await firstOf(hooks, ({ before }) => before?.(turn, runtimeOf(turn)));
    });
    expect(ending).toEqual({ status: 'budget', why: 'a sample of sampled' });
    expect(firstOf(hooks, ({ closes }) => closes?.(turn, []))).toBe('withdrawn');
    expect(inputOfNext(turn, carriedBy(hooks, turn)).carried).toMatchObject({ step: 7, children: 0 });
  });

  it('adds a command', async () => {
    const lines: string[] = [];
    const sink = { write: (text: string) => lines.push(text) > 0 };
    const program = createProgram({ out: sink, err: sink, env: {} }, undefined, {
      Samples: [(all, { screen }) => void all.command('sample').action(() => screen.line('a sample'))],
    });
    await program.parseAsync(['sample'], { from: 'user' });
    expect(lines.join('')).toBe('a sample\n');
  });

  it('adds a route, for people whose role the list names', async () => {
    const group = {
      at: '/api/samples',
      make: () => new Hono<Env>().get('/', (c) => c.text('a sample')).post('/', (c) => c.text('none')),
      needs: { 'GET /api/samples': 'viewer' },
    } as const;
    const routes: Routes = { ...ROUTES, signedIn: [...ROUTES.signedIn, group] };
    const app = await createTestApp(unreachable(), { routes });
    try {
      const cookie = await app.signIn();
      expect((await app.ask('/api/samples')).status).toBe(401);
      expect(await (await app.ask('/api/samples', { cookie })).text()).toBe('a sample');
      expect((await app.ask('/api/samples', { cookie, method: 'POST' })).status).toBe(403);
    } finally {
      app.close();
      await app.remove();
    }
  });

  it('adds a screen', () => {
    const { outputFiles } = buildSync({
      stdin: { contents: "export * from './src/web/screens';", resolveDir: root },
      ...{ bundle: true, write: false, format: 'cjs', platform: 'node', target: 'es2023' },
      ...{ jsx: 'automatic', jsxImportSource: 'preact' },
    });
    const page = { exports: { Screen: (_props: object): unknown => undefined } };
    new Function('module', 'exports', 'require', outputFiles[0]?.text ?? '')(page, page.exports, require);
    const Sample = (): null => null;
    const shown = (fragment: string): unknown =>
      page.exports.Screen({ route: parseRoute(fragment), screens: { sample: Sample } });
    expect(shown('#/sample')).toMatchObject({ type: Sample });
    expect(shown('#/other')).toMatchObject({ props: { place: 'other' } });
  });
});
