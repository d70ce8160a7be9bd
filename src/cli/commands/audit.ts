import type { Command } from 'commander';
import { defined } from '../../contract/defined';
import type { Countersign, RunQuery, RunSummary } from '../../client';
import { withLock } from '../../system/lock';
import { badSignatures, unsigned } from '../../audit/format';
import { readPinnedKey, readSigningKey, auditKeyFile } from '../../audit/keys';
import { createSignatureChecker, type SignatureReport } from '../../audit/check-signatures';
import { readFields } from '../../audit/redact';
import {
  type AuditFile,
  openAuditFile,
  readHead,
  type Redacted,
  redactFile,
  verifyFile,
  type Written,
} from '../../audit/audit-file';
import type { Context } from '../context';
import { withFileErrors, writeNewFile } from '../../system/named-files';
import { withProgress } from '../progress';
import { readMoment, sinceOption } from '../flags';
import type { VerifiedFile } from '../../audit/chain';
import { count } from '../../contract/text/columns';
import type { ScreenFormat } from '../print/screen';
import { type TableFact, factLines } from '../print/table';
import { escapeText } from '../../contract/text/escape';
import { createRecorder } from '../../audit/records';
import type { Approvers } from '../../authority/rules/approvers-file';
import { type SignatureState, type Tallied, TALLY_KINDS } from '../../audit/tally';
import { rm } from 'node:fs/promises';
import { makeKeys } from '../../audit/file-key';
import { makeFolderOf } from '../../system/files';

/** The file for audit records unless `--out` names another. */
const AUDIT_FILE = 'countersign-audit.jsonl';

interface ExportOptions {
  out?: string;
  since?: string;
  until?: string;
  turn?: string;
  key?: string;
}

interface RedactOptions {
  fields: string;
  turn?: string;
  out?: string;
}

interface VerifyOptions {
  key?: string;
  head?: string;
}

/** `audit keys`, `audit export`, `audit verify` and `audit redact`. */
export function addAudit(program: Command, context: Context): void {
  const audit = program
    .command('audit')
    .description('keep a signed record of who allowed what, and what ran');
  addAuditKeys(audit, context);
  audit
    .command('export')
    .description('append what is new in Temporal to an audit file, and sign it')
    .option('--out <file>', `the audit file (default: ${AUDIT_FILE})`)
    .addOption(sinceOption())
    .option('--until <time>', 'only turns that started before')
    .option('--turn <turn>', 'only this turn')
    .option(
      '--key <file>',
      'the signing key (default: COUNTERSIGN_AUDIT_KEY_FILE, or the one that audit keys made)',
    )
    .action((options: ExportOptions) => exportAudit(options, context));
  audit
    .command('verify <file>')
    .description(
      'check an audit file, without any server; with --approvers, the keys of decisions, too (repeatable)',
    )
    .option('--key <file|key>', 'the public key that must have signed it')
    .option('--head <file>', 'a signed head kept elsewhere, which the file must contain')
    .action((file: string, options: VerifyOptions) => verifyAudit(file, options, context));
  audit
    .command('redact <file>')
    .description('take values out of an audit file; it stays signed and whole')
    .requiredOption('--fields <names>', 'what to take out, such as approver,reason')
    .option('--turn <id>', 'only in this turn; needs the whole id')
    .option('--out <file>', 'write a copy (default: replace the file)')
    .action((file: string, options: RedactOptions) => redactAudit(file, options, context));
}

async function exportAudit(options: ExportOptions, context: Context) {
  const { screen, env } = context;
  const { out = AUDIT_FILE, turn } = options;
  const key = readSigningKey(options.key, env);
  const window = defined({
    since: readMoment(options.since, '--since'),
    until: readMoment(options.until, '--until'),
  });
  const progress: ExportProgress = { runs: 0, done: 0, gone: 0 };
  const written = await context.withClient(async (client) => {
    const query = turn === undefined ? window : { ...window, turn: await client.find(turn) };
    return locked(out, context, async () => {
      const file = await openAuditFile(out, { namespace: client.namespace, key, at: now() });
      try {
        await withProgress(
          screen,
          () => progressLine(progress),
          () => exportRuns(client, { query, file, progress }),
        );
      } catch (error) {
        // The next export continues after the last signed head.
        await file.abandon();
        throw error;
      }
      return file.finish(now());
    });
  });
  const done = { ...written, gone: progress.gone };
  context.print({ file: out, ...done }, () => exportLines(out, done, screen));
}

function locked<T>(file: string, { screen }: Context, work: () => Promise<T>): Promise<T> {
  const options = { progress: screen.note, what: `${file} is being written` };
  return withFileErrors(`writing ${file}`, () => withLock(`${file}.lock`, options, work));
}

function now() {
  return new Date().toISOString();
}

async function verifyAudit(file: string, options: VerifyOptions, context: Context) {
  const { screen, print } = context;
  const key = options.key === undefined ? undefined : await readPinnedKey(options.key);
  const head = options.head === undefined ? undefined : await readHead(options.head);
  const approvers = await loadFiles(context.options().approvers ?? []);
  const checker = await createSignatureChecker(approvers);
  const verified = await withProgress(
    screen,
    () => `reading ${file}`,
    () => verifyFile(file, { key, head }, checker.push),
  );
  const signatures = checker.finish();
  const found = { pinned: key !== undefined, ...verified, signatures };
  print({ file, ...found }, () => verifyLines(file, found, screen));
  if (verified.signed < verified.records || verified.head === undefined) throw unsigned(verified);
  const { bad } = signatures.counts;
  if (bad > 0) throw badSignatures(bad);
}

async function redactAudit(file: string, options: RedactOptions, context: Context) {
  const { turn, out = file } = options;
  const redaction = { fields: readFields(options.fields), out, turn };
  const redacted = await locked(file, context, () => redactFile(file, redaction));
  context.print(redacted, () => redactLines(redacted, context.screen));
}

/** The progress of an export, in one line. */
export function progressLine({ runs, done }: ExportProgress): string {
  return runs === 0 ? 'listing turns' : `read ${count(done)} of ${count(runs)} histories`;
}

/** The result of an export. */
export function exportLines(
  file: string,
  written: Written & { gone: number },
  screen: ScreenFormat,
): string[] {
  const { added, dropped, records, head, gone } = written;
  const { good, warn } = screen.style;
  const what = added === 0 ? 'nothing new' : `${count(added)} new records`;
  const cutOff = `${count(dropped)} unsigned records; those that are in history are written again`;
  const deleted = `${count(gone)} histories while they were listed`;
  const facts: TableFact[] = [
    ['records', count(records)],
    ['head', `${head.n} ${head.hash}`],
    ['cut off', dropped === 0 ? undefined : { text: cutOff, paint: warn }],
    ['deleted', gone === 0 ? undefined : { text: deleted, paint: warn }],
  ];
  return [
    good(`${escapeText(file)}: ${what}, signed`),
    ...factLines(facts, screen),
    ...(added === 0 ? [] : ['Keep the head where those who can change the file cannot change it.']),
  ];
}

/** The facts to print about a file that was verified. */
export function verifyLines(
  file: string,
  verified: VerifiedFile & { pinned: boolean; signatures: SignatureReport },
  screen: ScreenFormat,
): string[] {
  const { records, signed, redacted, head, key, namespace, pinned } = verified;
  const { good, warn } = screen.style;
  const paint = signed === records && head ? good : warn;
  const facts: TableFact[] = [
    ['records', `${count(records)}, of them signed: ${count(signed)}`],
    ['taken out', `${count(redacted)} values`],
    ['namespace', escapeText(namespace)],
    ['key', `${key} ${pinned ? '(the one you gave)' : '(named by the file itself)'}`],
    ['head', head && `${head.n} ${head.hash}, ${head.at}`],
    ...signatureFacts(verified.signatures, screen),
  ];
  return [
    paint(`${escapeText(file)}: every record is as it was written`),
    ...factLines(facts, screen),
    ...(pinned ? [] : ['Someone who rewrites the whole file can name a key too: pin yours with --key.']),
  ];
}

/** The result of a redaction. */
export function redactLines({ file, taken, redacted }: Redacted, { style }: ScreenFormat): string[] {
  return [
    style.good(`${escapeText(file)}: took out ${count(taken)} values; ${count(redacted)} are out in all`),
  ];
}

/** The progress of an export. */
interface ExportProgress {
  runs: number;
  done: number;
  /** Runs that the server deleted between listing and reading: their retention was over. */
  gone: number;
}

/** The part of the client that an export reads with. */
type AuditSource = Pick<Countersign, 'runs' | 'runEvents'>;

/** Appends the records that the file lacks, from the runs that the query finds, oldest run first. */
export async function exportRuns(
  source: AuditSource,
  { query, file, progress }: { query: RunQuery; file: AuditFile; progress: ExportProgress },
): Promise<void> {
  // Loaded here, so that `--help` does not wait for gRPC.
  const { AT_ONCE, mapOrdered } = await import('../../client/read-turns.js');
  const { unlessGone } = await import('../../history/server-errors.js');
  const runs: RunSummary[] = [];
  for await (const run of source.runs(query)) if (run.open || !file.known.hasWhole(run.runId)) runs.push(run);
  progress.runs = runs.length;
  const read = async (run: RunSummary) => ({ run, events: await unlessGone(source.runEvents(run)) });
  for await (const { run, events } of mapOrdered(runs.reverse(), AT_ONCE, read)) {
    progress.done += 1;
    if (events === undefined) progress.gone += 1;
    const recorder = createRecorder(run.turn);
    for (const event of events ?? []) {
      for (const record of recorder.push(event)) await file.add(record);
    }
  }
}

/** Reads the files that keys are compared with. @throws CountersignError as `loadApprovers`. */
async function loadFiles(paths: readonly string[]): Promise<Approvers[]> {
  if (paths.length === 0) return [];
  // Loaded here, so that no other command waits for YAML and CEL.
  const { loadApprovers } = await import('../../authority/rules/approvers-file.js');
  return Promise.all(paths.map((path) => loadApprovers(path)));
}

/** The counts in one line. A count of 0 is left out, unless its state is `own` or is always shown. */
function countsText({ counts }: Tallied, own: SignatureState) {
  const shown = TALLY_KINDS.filter(
    ({ state, isAlways }) => state === own || isAlways === true || counts[state] > 0,
  );
  return shown.map(({ state, words }) => `${words}: ${count(counts[state])}`).join(', ');
}

/** The facts to print about the decisions that are named. */
function remarkFacts(
  { counts, marked, unproven }: Tallied,
  { style }: Pick<ScreenFormat, 'style'>,
): TableFact[] {
  const facts = [...marked, ...unproven].map(
    ({ n, turn, call, approver = '(taken out)', state, why }): TableFact => {
      const text = escapeText(`${turn}/${call}, ${approver}, record ${n}: ${why}`);
      const words = TALLY_KINDS.find((kind) => kind.state === state)?.words ?? state;
      return [words, { text, paint: state === 'bad' ? style.bad : style.warn }];
    },
  );
  const listed = TALLY_KINDS.filter(({ list }) => list !== undefined);
  const left = listed.reduce((sum, { state }) => sum + counts[state], 0) - facts.length;
  return [...facts, ['and', left === 0 ? undefined : `${count(left)} more of these`]];
}

const CARRIED_ONLY =
  'as this file carries them: whoever wrote it could have put in others; compare them with --approvers <path>';

/** The facts to print about the signatures of decisions: the counts of each result, and the people who signed. */
function signatureFacts(report: SignatureReport, { style }: ScreenFormat): TableFact[] {
  const { keys, counts, verified } = report;
  const by = Object.entries(verified).map(([name, times]) => `${escapeText(name)}: ${count(times)}`);
  const isCarriedOnly = keys === 'carried' && counts.carried > 0;
  return [
    ['decisions', countsText(report, keys === 'approvers' ? 'verified' : 'carried')],
    ['keys', isCarriedOnly ? { text: CARRIED_ONLY, paint: style.warn } : undefined],
    ['signed by', by.length === 0 ? undefined : by.join(', ')],
    ...remarkFacts(report, { style }),
  ];
}

/** `audit keys [file]`. */
export function addAuditKeys(audit: Command, context: Context): void {
  audit
    .command('keys [file]')
    .description('make the keys that sign audit files')
    .action((file: string | undefined) => keys(file, context));
}

/** The public key, which is for others, unless the user names the files. */
const PUBLIC_FILE = 'countersign-audit.key.pub';

async function keys(named: string | undefined, { screen, print, env }: Context) {
  const made = makeKeys();
  const file = named ?? auditKeyFile(env);
  const publicFile = named === undefined ? PUBLIC_FILE : `${named}.pub`;
  if (named === undefined) await withFileErrors(`writing ${file}`, () => makeFolderOf(file));
  await writeNewFile(file, made.privatePem);
  try {
    await writeNewFile(publicFile, made.publicPem, 0o644);
  } catch (error) {
    // One key file is useless without the other, and would block the next attempt.
    await rm(file, { force: true });
    throw error;
  }
  const { good, quiet } = screen.style;
  print({ key: made.id, privateFile: file, publicFile }, () => [
    good(`wrote ${escapeText(file)} and ${escapeText(publicFile)}`),
    `${quiet('public key')}  ${made.id}`,
    'Keep the first file to yourself; give the public key to everyone who verifies, and let them pin it.',
  ]);
}
