import {
  changed,
  encryptedExport,
  exported,
  exportedText,
  ofAnotherApplication,
  withPatch,
} from '../../history/exports';
import { root } from '../../support/build';
import { runCli } from '../run-cli';
import { useHistoryFiles } from './history-files';

const { recorded, written } = useHistoryFiles();
const replay = (...args: string[]) => runCli(['replay', ...args], { cwd: root });

it('a file replays, with no server', async () => {
  const { code, out, err } = await replay(recorded('in-doubt'));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^1 run replays \(\d\d events in \d+/);
});

it('every run of a turn replays', async () => {
  const runs = [exported('continuing'), exported('continued')];
  const { code, out } = await replay(await written({ countersign: 1, runs }), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ replayed: 2, failed: 0, runs: [{ turn: expect.any(String) }, {}] });
});

it('what does not replay is shown in the words of the agent, then in those of Temporal', async () => {
  const file = await written(changed('approved', '"name": "pay"', '"name": "give"'));
  const { code, out, err } = await replay(file);
  expect(code).toBe(1);
  expect(out).toMatch(
    /does not replay: the code does something else now\n\s+run[^\n]+\n\s+where +step 1, call 1\.2, event #28\n\s+history +runs call 1\.2, give\n\s+the code +runs call 1\.2, pay\n\s+Temporal says +\[TMPRL1100\] Nondeterminism error: Activity type/,
  );
  expect(out).toContain('1 of 1 runs do not replay');
  expect(err).toMatch(/^a turn does not replay\n[^\n]*do not deploy[^\n]*\n\[failed\]\n$/);
});

it.each<[string, string[], RegExp]>([
  ['nothing', [], /nothing is named to replay[^]*\[usage\]/],
  ['a turn and a batch', ['t', '--last', '3'], /goes without --last[^]*\[usage\]/],
  ['no count', ['--last', 'x'], /--last x: this is not a whole number[^]*\[usage\]/],
  ['no time', ['t', '--task-timeout', 'x'], /--task-timeout x: this is not a time[^]*\[usage\]/],
  ['no time at all', ['t', '--task-timeout', '0'], /--task-timeout 0: the code needs some[^]*\[usage\]/],
])('%s is a mistake', async (_, args, message) => {
  const { code, out, err } = await replay(...args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(message);
});

it.each<[string, () => unknown, RegExp]>([
  ['another application', ofAnotherApplication, /workflow "orderFulfilment"[^]*\[bad_history\]/],
  ['a newer version', () => withPatch('plain', 'x'), /the change "x"[^]*\[bad_history\]/],
  ['half a file', () => exportedText('plain').slice(0, 900), /\[bad_history\]/],
])('a history of %s is named as such', async (_, content, code) => {
  const ended = await replay(await written(content()));
  expect(ended).toMatchObject({ code: 1, out: '' });
  expect(ended.err).toMatch(code);
});

it('an encrypted one without its key is named as such', async () => {
  const { json } = await encryptedExport('plain');
  expect((await replay(await written(json))).err).toMatch(/the key k1[^]*\[key_missing\]/);
});

describe('workflows of somebody else', () => {
  it('are taken from a file', async () => {
    const file = await written(ofAnotherApplication());
    const fits = await replay(file, '--workflows', 'test/fixtures/gate-workflows.ts');
    expect(fits.code).toBe(1);
    expect(fits.out).toContain('the code has no workflow of this type');
    const whole = await replay(recorded('plain'), '--workflows', 'src/workflows/index.ts');
    expect(whole).toMatchObject({ code: 0, err: '' });
  });

  it('that do not come to rest are shown, and the runs beside them are judged', async () => {
    const runs = ['plain', 'approved', 'denied'].map((kind) => exported(`${kind}`));
    const file = await written({ countersign: 1, runs });
    const endless = ['--workflows', 'test/fixtures/endless-workflows.ts', '--task-timeout', '4s'];
    const { code, out, err } = await replay(file, ...endless);
    expect(code).toBe(1);
    expect(out).toMatch(
      /does not replay: the code does not come to rest\n\s+run[^\n]+\n\s+where +step 1, event #21\n\s+history +publishes what waits for a person\n\s+the code +works for 4\.0 s and does not come to rest\n/,
    );
    expect(out).toContain('1 of 3 runs do not replay');
    expect(err).toMatch(/^a turn does not replay\n[^\n]*do not deploy[^\n]*\n\[failed\]\n$/);
  });

  it.each([
    ['gone.ts', /there is no such file[^]*\[file_failed\]/],
    ['README.md', /cannot be bundled[^]*\[config_invalid\]/],
  ])('%s are none', async (path, message) => {
    const { code, err } = await replay(recorded('plain'), '--workflows', path);
    expect(code).not.toBe(0);
    expect(err).toMatch(message);
  });
});
