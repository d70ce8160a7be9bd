import type { Command } from 'commander';
import type { RunQuery } from '../../client';
import { withLock } from '../../engine/lock';
import { unsigned } from '../../history/audit/errors';
import { readFields } from '../../history/audit/redact';
import { defined } from '../../history/defined';
import type { AuditFile, Written } from '../audit/audit-file';
import type { ExportProgress } from '../audit/export-runs';
import type { Context } from '../context';
import { withFile } from '../files';
import { exportLines, progressLine, redactLines, verifyLines } from '../print/audit';
import { withProgress } from '../progress';
import { readMoment } from '../read-value';

/** Where audit records go unless `--out` says so. */
const AUDIT_FILE = 'countersign-audit.jsonl';

interface ExportOptions {
  out?: string;
  since?: string;
  until?: string;
  turn?: string;
  key?: string;
  json?: boolean;
}

interface RedactOptions {
  fields: string;
  turn?: string;
  out?: string;
  json?: boolean;
}

interface VerifyOptions {
  key?: string;
  head?: string;
  json?: boolean;
}

/** `audit export`, `audit verify` and `audit redact`. */
export function addAudit(program: Command, context: Context): void {
  const audit = program.command('audit').description('a signed record of who allowed what, and what ran');
  audit
    .command('export')
    .description('append what is new in Temporal to an audit file, and sign it')
    .option('--out <file>', `the audit file (default: ${AUDIT_FILE})`)
    .option('--since <time>', 'only turns that are open or ended since: 2026-11-21, 24h, 7d')
    .option('--until <time>', 'only turns that started before')
    .option('--turn <turn>', 'only this turn')
    .option('--key <file>', 'the signing key (default: COUNTERSIGN_AUDIT_KEY_FILE, countersign-audit.key)')
    .option('--json', 'print JSON')
    .action((options: ExportOptions) => exportAudit(options, context));
  audit
    .command('verify <file>')
    .description('check an audit file, without any server')
    .option('--key <file|key>', 'the public key that it has to be signed with')
    .option('--head <file>', 'a signed head that was kept elsewhere, which it has to contain')
    .option('--json', 'print JSON')
    .action((file: string, options: VerifyOptions) => verifyAudit(file, options, context));
  audit
    .command('redact <file>')
    .description('take values out of an audit file; it stays signed and whole')
    .requiredOption('--fields <names>', 'what to take out, such as approver,reason')
    .option('--turn <id>', 'only of this turn; the whole id')
    .option('--out <file>', 'write a copy (default: replace the file)')
    .option('--json', 'print JSON')
    .action((file: string, options: RedactOptions) => redactAudit(file, options, context));
}

async function exportAudit(options: ExportOptions, context: Context): Promise<void> {
  const { screen, env } = context;
  const { out = AUDIT_FILE, turn } = options;
  const { readSigningKey } = await import('../audit/key-files.js');
  const { openAuditFile } = await import('../audit/audit-file.js');
  const key = readSigningKey(options.key, env);
  const window = readWindow(options);
  const progress: ExportProgress = { runs: 0, done: 0, gone: 0 };
  const written = await context.withDesk(async (desk) => {
    const query = turn === undefined ? window : { ...window, turn: await desk.find(turn) };
    return locked(out, context, async () => {
      const file = await openAuditFile(out, { namespace: desk.namespace, key, at: now() });
      const { exportRuns } = await import('../audit/export-runs.js');
      return finishing(file, () =>
        withProgress(
          screen,
          () => progressLine(progress),
          () => exportRuns(desk, { query, file, progress }),
        ),
      );
    });
  });
  if (options.json === true) screen.json({ file: out, ...written, gone: progress.gone });
  else screen.lines(exportLines(out, { ...written, gone: progress.gone }, screen));
}

function readWindow({ since, until }: ExportOptions): RunQuery {
  return defined({
    since: since === undefined ? undefined : readMoment(since, '--since', Date.now()),
    until: until === undefined ? undefined : readMoment(until, '--until', Date.now()),
  });
}

/** Where reading fails the next export goes on from what is signed. */
async function finishing(file: AuditFile, work: () => Promise<void>): Promise<Written> {
  try {
    await work();
  } catch (error) {
    await file.abandon();
    throw error;
  }
  return file.finish(now());
}

function locked<T>(file: string, { screen }: Context, work: () => Promise<T>): Promise<T> {
  const options = { progress: screen.note, what: `${file} is being written` };
  return withFile(`writing ${file}`, () => withLock(`${file}.lock`, options, work));
}

function now(): string {
  return new Date().toISOString();
}

async function verifyAudit(file: string, options: VerifyOptions, { screen }: Context): Promise<void> {
  const { readPinnedKey } = await import('../audit/key-files.js');
  const { readHead, verifyFile } = await import('../audit/verify-file.js');
  const key = options.key === undefined ? undefined : await readPinnedKey(options.key);
  const head = options.head === undefined ? undefined : await readHead(options.head);
  const verified = await withProgress(
    screen,
    () => `reading ${file}`,
    () => verifyFile(file, defined({ key, head })),
  );
  if (options.json === true) screen.json({ file, pinned: key !== undefined, ...verified });
  else screen.lines(verifyLines(file, { ...verified, pinned: key !== undefined }, screen));
  if (verified.signed < verified.records || verified.head === undefined) throw unsigned(verified);
}

async function redactAudit(file: string, options: RedactOptions, context: Context): Promise<void> {
  const { redactFile } = await import('../audit/redact-file.js');
  const { turn, out = file } = options;
  const redaction = { fields: readFields(options.fields), out, ...defined({ turn }) };
  const redacted = await locked(file, context, () => redactFile(file, redaction));
  if (options.json === true) context.screen.json(redacted);
  else context.screen.lines(redactLines(redacted, context.screen));
}
