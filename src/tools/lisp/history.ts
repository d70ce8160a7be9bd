import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { appendLine, createWithLine, readIfThere, replaceFile } from '../../system/files';
import { errnoOf } from '../../contract/errors';
import { parseJson } from '../../contract/json';

/** A form, its end, or an event of the image. The entry of a form is written before the form is sent. */
const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('form'),
    id: z.string(),
    at: z.string(),
    mode: z.enum(['eval', 'compile']),
    form: z.string(),
    package: z.string(),
  }),
  z.strictObject({ kind: z.literal('end'), id: z.string(), result: z.string() }),
  z.strictObject({ kind: z.literal('image'), at: z.string(), text: z.string() }),
]);
type Entry = z.output<typeof entrySchema>;

/** The last condition that nothing handled. */
const errorSchema = z.strictObject({
  at: z.string(),
  mode: z.enum(['eval', 'compile']),
  form: z.string(),
  condition: z.string(),
  type: z.string(),
  restarts: z.array(z.string()),
  backtrace: z.array(z.string()),
});

/** The forms of an image, kept in its folder: they outlive the image and the worker. */
export type FormHistory = ReturnType<typeof createFormHistory>;

/** Characters of a form and of its result that are kept. */
const MOST_CHARACTERS = 4000;
/** The number of entries that are kept when the file is shortened. */
const MOST_ENTRIES = 200;
const LONG_FILE_CHARACTERS = 1024 * 1024;

/** The history in a folder. The folder is made with the first entry. */
export function createFormHistory(dir: string) {
  const file = join(dir, 'history.jsonl');
  const errorFile = join(dir, 'last-error.json');
  // Appends are queued, because two appends at the same time could both find no file and both create it.
  let last: Promise<unknown> = Promise.resolve();
  const add = (entry: Entry) => {
    const added = last.then(() => append(dir, file, entry));
    last = added.catch(() => undefined);
    return added;
  };
  return {
    /** Records a form durably, before it is sent. The returned function records how the form ended. */
    begin: async (form: Pick<Extract<Entry, { kind: 'form' }>, 'mode' | 'form' | 'package'>) => {
      const id = randomUUID();
      await add({ kind: 'form', id, at: now(), ...form, form: cut(form.form) });
      return (result: string) => add({ kind: 'end', id, result: cut(result) });
    },
    /** Records an event of the image itself. */
    note: (text: string) => add({ kind: 'image', at: now(), text }),
    keepError: async (error: Omit<z.output<typeof errorSchema>, 'at'>) => {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await replaceFile(errorFile, JSON.stringify({ at: now(), ...error, form: cut(error.form) }));
    },
    /** The newest forms and what happened between them, as text. */
    describe: async (limit: number) => describe(await read(file), limit),
    describeError: async () => describeError(await readIfThere(errorFile)),
  };
}

const now = () => new Date().toISOString();

const cut = (text: string) =>
  text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (cut)`;

async function append(dir: string, file: string, entry: Entry) {
  const line = JSON.stringify(entry);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await appendLine(file, line).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error;
    return createWithLine(file, line);
  });
  if (entry.kind === 'image') await shorten(file);
}

/** Shortens a long file. Called only when an image starts, which one process at a time does. */
async function shorten(file: string) {
  const text = (await readIfThere(file)) ?? '';
  if (text.length <= LONG_FILE_CHARACTERS) return;
  await replaceFile(file, `${text.trimEnd().split('\n').slice(-MOST_ENTRIES).join('\n')}\n`);
}

/** Reads the entries. Skips a line that a crash cut short. */
async function read(file: string) {
  const lines = ((await readIfThere(file)) ?? '').split('\n');
  return lines.flatMap((line) => entrySchema.safeParse(parseJson(line)).data ?? []);
}

function describe(entries: readonly Entry[], limit: number) {
  const forms = entries.filter(({ kind }) => kind === 'form');
  if (entries.length === 0) return 'No REPL history available.';
  const first = forms.length > limit ? forms.at(-limit) : entries[0];
  const shown = entries.slice(first === undefined ? 0 : entries.indexOf(first));
  const ends = new Map(
    entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.id, entry.result] as const] : [])),
  );
  const count = Math.min(limit, forms.length);
  const lines = shown.flatMap((entry) => {
    if (entry.kind === 'end') return [];
    if (entry.kind === 'image') return [`-- ${entry.at}: ${entry.text}`];
    const number = forms.indexOf(entry) + 1;
    const result = ends.get(entry.id) ?? 'unknown: it was sent, and no answer came (it may run still)';
    return [
      `[${number}] ${entry.mode === 'eval' ? 'Form' : 'Compiled'}: ${entry.form}`,
      `    Result: ${result}`,
    ];
  });
  return [`Recent REPL History (${count} of ${forms.length} entries):`, '', ...lines].join('\n');
}

function describeError(text: string | undefined) {
  const error = text === undefined ? undefined : errorSchema.safeParse(parseJson(text)).data;
  if (error === undefined) return 'No recent errors recorded.';
  const section = (head: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', `${head}:`, ...lines.map((line) => `  ${line.replaceAll('\n', '\n  ')}`)];
  return [
    `Last Error (at ${error.at}):`,
    ...section('Condition', [error.condition, `[of type ${error.type}]`]),
    ...section(error.mode === 'eval' ? 'Form' : 'Compiled form', [error.form]),
    ...section('Restarts', error.restarts),
    ...section('Backtrace', error.backtrace),
  ].join('\n');
}
