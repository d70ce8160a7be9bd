import type { Build, Builds } from '../../../src/client';
import { checkBuilds } from '../../../src/cli/doctor/server';

const build = (name: string, state: Build['state'], open: Partial<Build> = {}): Build => {
  return { build: name, state, turns: 0, waiting: 0, inDoubt: 0, sessions: 0, ...open };
};
const found = (builds: Builds | undefined, deployment = 'countersign') =>
  checkBuilds({ builds: () => Promise.resolve(builds) }, deployment);
const of = (current: string | null, ...builds: Build[]): Builds => ({
  deployment: 'countersign',
  current,
  builds,
});

it.each<[string, Builds | undefined, string, RegExp]>([
  ['no builds', undefined, 'ok', /^none: workers run without a build id$/],
  [
    'no current build',
    of(null, build('1', 'unused')),
    'ok',
    /^none is current: .*; 1 is unused: 0 turns open$/,
  ],
  [
    'one build',
    of('1', build('1', 'current', { turns: 2, waiting: 1 })),
    'ok',
    /^1 is current: 2 turns open \(1 waiting\)$/,
  ],
  [
    'an old one that is over',
    of('2', build('1', 'drained'), build('2', 'current')),
    'ok',
    /^2 is current: 0 turns open$/,
  ],
  [
    'an old one that turns hold',
    of('2', build('1', 'draining', { turns: 1, inDoubt: 1 }), build('2', 'current')),
    'warning',
    /^1 is draining: 1 turn open \(1 in doubt\); 2 is current/,
  ],
  [
    'an old one that only a session holds',
    of('2', build('1', 'draining', { sessions: 1 }), build('2', 'current')),
    'warning',
    /^1 is draining: 0 turns open, 1 session; /,
  ],
])('doctor shows %s', async (_case, builds, state, detail) => {
  const finding = await found(builds);
  expect(finding).toMatchObject({ name: 'builds of countersign', state });
  expect(finding.detail).toMatch(detail);
});

it('says how to drain, also in a deployment of another name', async () => {
  const builds = [build('1', 'draining', { turns: 1 })];
  expect((await found({ deployment: 'shop', current: '2', builds }, 'shop')).todo).toContain(
    '`countersign deploy --drain 1 --deployment shop`',
  );
});

it('names the turns that a reset keeps on an old build, and the way out', async () => {
  const builds = [build('1', 'draining', { turns: 2, resets: ['t1', 't2'] })];
  expect((await found({ deployment: 'shop', current: '2', builds }, 'shop')).todo).toMatch(
    /A reset keeps t1, t2 there: decide what waits in them, or fork and cancel them/,
  );
});

it('says why it cannot tell', async () => {
  const refused = { builds: () => Promise.reject(new Error('no permission')) };
  expect(await checkBuilds(refused, 'countersign')).toMatchObject({
    state: 'bad',
    detail: expect.stringContaining('no permission'),
  });
});
