import {
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

/** Nothing listens at that address: a file needs no server. */
const show = (...args: string[]) => runCli(['show', ...args, '--address', '127.0.0.1:1'], { cwd: root });

describe('a turn in a file', () => {
  it.each<[string, RegExp[]]>([
    [
      'edited',
      [
        /proposed:\n\s+n {2}500\n/,
        /approved, effective:\n\s+n {2}50\n/,
        /modified by somebody \(as claimed\): less/,
      ],
    ],
    ['approved', [/1\.2 pay {2}done, waited \d+ m?s for a person, ran/, /proposed, approved, effective:/]],
    ['denied', [/denied by somebody \(as claimed\): no/, /malformed/]],
    ['expired', [/expired: nobody decided in time/]],
    ['in-doubt', [/its outcome is unknown/, /in doubt, a person has to resolve it/, /happened by somebody/]],
    ['cancelled', [/was asked to end/, /state +cancelled/]],
    ['plain', [/tool_not_found/, /step 1 {2}replied after/, /#\d+–#\d+/]],
  ])('%s is shown step by step', async (kind, parts) => {
    const { code, out, err } = await show(recorded(kind));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const part of parts) expect(out).toMatch(part);
  });

  it('is shown in JSON, with every record of its calls', async () => {
    const { out } = await show(recorded('edited'), '--json');
    expect(JSON.parse(out)).toMatchObject({
      status: 'answered',
      calls: [{ arguments: { n: 500 }, approved: { n: 50 }, effective: { n: 50 } }],
      steps: [{ step: 1 }, { step: 2 }],
      timeline: expect.arrayContaining([expect.objectContaining({ type: 'turn_started' })]),
    });
  });

  it('of several runs is one turn', async () => {
    const runs = [exported('continuing'), exported('continued')];
    const { code, out } = await show(await written({ countersign: 1, runs }));
    expect(code).toBe(0);
    expect(out).toMatch(/runs +2/);
    expect(out).toContain('continues as new');
  });

  it('is shown as it was', async () => {
    const { out } = await show(recorded('edited'), '--at', '1.1');
    expect(out).toMatch(
      /the model knew:\n {2}person +turn edited\n\nsince then:\n {2}model +→ 1\.1 pay n=500\n/,
    );
    expect(out).toMatch(/request +\S+\/1\.1 {2}pay/);
    expect(out).not.toContain('countersign approve');
    const later = await show(recorded('edited'), '--at', '2', '--json');
    expect(JSON.parse(later.out)).toMatchObject({ transcript: { known: 3 }, view: { requests: [] } });
  });
});

describe('what cannot be shown', () => {
  it.each<[string, string[], number, RegExp]>([
    [
      'a point that is none',
      [recorded('edited'), '--at', 'x'],
      2,
      /"x" is not a point of a turn[^]*\[usage\]/,
    ],
    [
      'a step there is not',
      [recorded('edited'), '--at', '7'],
      4,
      /no step 7[^]*Its steps: 1, 2\n\[not_found\]/,
    ],
    ['a call there is not', [recorded('edited'), '--at', '1.9'], 4, /no call 1\.9[^]*\[not_found\]/],
    ['an event there is not', [recorded('edited'), '--at', '#999'], 4, /no event #999[^]*\[not_found\]/],
    ['a file to follow', [recorded('edited'), '--follow'], 2, /--follow takes a turn[^]*\[usage\]/],
    ['no file', ['gone.json'], 1, /there is no such file[^]*\[file_failed\]/],
  ])('%s', async (_, args, exit, message) => {
    const { code, out, err } = await show(...args);
    expect({ code, out }).toEqual({ code: exit, out: '' });
    expect(err).toMatch(message);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no JSON', () => 'hello', /this is not JSON\n[^]*\[bad_history\]/],
    ['half a file', () => exportedText('plain').slice(0, 900), /cut off[^]*\[bad_history\]/],
    ['another application', ofAnotherApplication, /workflow "orderFulfilment"[^]*\[bad_history\]/],
    ['a later format', () => '{"countersign":9,"runs":[{}]}', /newer version[^]*\[bad_history\]/],
    ['a later workflow', () => withPatch('plain', 'x'), /the change "x"[^]*\[bad_history\]/],
  ])('a file of %s', async (_, content, message) => {
    const { code, out, err } = await show(await written(content()));
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(message);
    expect(err).not.toMatch(/\n\s+at /);
  });

  it('an encrypted one without its key, which is shown with it', async () => {
    const { json, key } = await encryptedExport('edited');
    const file = await written(json);
    const blind = await show(file);
    expect(blind.code).toBe(1);
    expect(blind.err).toMatch(/the key k1; no keys are set[^]*\[key_missing\]/);
    const env = { COUNTERSIGN_ENCRYPTION_KEYS: key, COUNTERSIGN_ENCRYPTION_REQUIRED: 'false' };
    expect((await runCli(['show', file], { env })).out).toMatch(/agent +edited/);
  });
});
