import { cp, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { isObject, type JsonObject } from '../../contract/json';
import { setArgument } from '../set-argument';

/** The agent, the file and the change of the demo. */
export const SCENE = {
  agent: 'clerk',
  file: 'README.md',
  from: 'Acme Ltd',
  to: 'Northwind GmbH',
  /** The new text that `--answer edit` writes. */
  edited: 'Northwind GmbH & Co. KG',
  prompt: `search for "Acme Ltd", then replace "Acme Ltd" with "Northwind GmbH" in README.md`,
} as const;

/** The path of the new text in the arguments of the agent's call. */
const NEW_TEXT = ['edits', '0', 'new_text'];

/** The new text that a call proposes. */
export function newTextOf(args: JsonObject): string {
  const edits = args['edits'];
  const first = Array.isArray(edits) ? edits[0] : undefined;
  const text = isObject(first) ? first['new_text'] : undefined;
  return typeof text === 'string' ? text : SCENE.to;
}

/** The same arguments with another new text. */
export function withNewText(args: JsonObject, text: string): JsonObject {
  return setArgument(args, { path: NEW_TEXT, value: text });
}

/**
 * The expected content of the files. `text`: the text in place of the old name. Undefined if the demo may change
 * nothing.
 */
export function expected(before: Snapshot, text: string | undefined): Snapshot {
  if (text === undefined) return before;
  const readme = (before.get(SCENE.file) ?? '').split(SCENE.from).join(text);
  return new Map([...before, [SCENE.file, readme]]);
}

/** Files by path, as text. */
type Snapshot = ReadonlyMap<string, string>;

/** The project that the demo's agent works on. */
const SOURCE = join(__dirname, '..', '..', '..', 'examples', 'workspace');

/** A fresh copy of the example project, for the agent to change. */
export async function copyWorkspace(): Promise<{ root: string; remove(): Promise<void> }> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'countersign-demo-')));
  const root = join(directory, 'invoices');
  await cp(SOURCE, root, { recursive: true });
  return { root, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** Every file below a folder. */
export async function snapshot(root: string): Promise<Snapshot> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = files
    .sort()
    .map(async (file): Promise<[string, string]> => [
      file.slice(root.length + 1),
      await readFile(file, 'utf8'),
    ]);
  return new Map(await Promise.all(texts));
}

/** The differences between two snapshots as one unified diff. Empty if nothing changed. */
export function diffOfSnapshots(before: Snapshot, after: Snapshot): string {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => patchOf(path, before.get(path), after.get(path)))
    .join('');
}

function patchOf(path: string, before: string | undefined, after: string | undefined) {
  const from = before === undefined ? '/dev/null' : path;
  const to = after === undefined ? '/dev/null' : path;
  const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '');
  return patch.replace(/^(Index:.*|=+)\n/gm, '');
}
