import type { Command } from 'commander';
import type { Countersign } from '../../client';
import type { Bundle } from '../../history/bundle';
import type { Context } from '../context';
import { writeNewFile } from '../files';
import { manifest } from '../own-modules';
import { count } from '../print/numbers';
import type { Screen } from '../print/screen';
import { visible } from '../print/visible';
import { withProgress } from '../progress';
import { parseTarget } from '../target';

interface ExportOptions {
  out?: string;
  redact: boolean;
  json?: boolean;
}

/** `export <turn>`. */
export function addExport(program: Command, context: Context): void {
  program
    .command('export <turn>')
    .description('write a turn to a file that others can replay, without its secrets')
    .option('--out <file>', 'the file (default: <turn>.json)')
    .option('--no-redact', 'leave secrets in')
    .option('--json', 'print JSON')
    .action((turn: string, options: ExportOptions) => exportTurn(parseTarget(turn).turn, options, context));
}

/** What was written, and what is not in it any more. */
interface Exported {
  turn: string;
  file: string;
  runs: number;
  events: number;
  redacted: Bundle['redacted'];
}

async function exportTurn(named: string, options: ExportOptions, context: Context): Promise<void> {
  const { screen } = context;
  const exported = await context.withDesk(async (desk) => {
    const turn = await desk.find(named);
    const { out: file = `${turn}.json` } = options;
    const reading = () => bundleOf(desk, turn, options.redact);
    const { bundle, events } = await withProgress(screen, () => `reading ${turn}`, reading);
    await writeNewFile(file, `${JSON.stringify(bundle, null, 2)}\n`);
    return { turn, file, runs: bundle.runs.length, events, redacted: bundle.redacted };
  });
  if (options.json === true) screen.json(exported);
  else screen.lines(exportedLines(exported, context, screen));
}

async function bundleOf(desk: Countersign, turn: string, redact: boolean) {
  const { makeBundle } = await import('../../history/bundle.js');
  const { createKnownSecrets } = await import('../export/known-secrets.js');
  const { createRedactor, keepAll, learner } = await import('../export/redactor.js');
  const runs = await desk.histories(turn);
  const { namespace, client } = desk;
  const place = {
    version: manifest().version,
    namespace,
    turn,
    converter: client.options.loadedDataConverter,
  };
  const known = createKnownSecrets();
  if (redact) await makeBundle(runs, { ...place, rewriter: learner(known) });
  const rewriter = redact ? createRedactor(known) : keepAll;
  const { runs: written, ...head } = await makeBundle(runs, { ...place, rewriter });
  const bundle: Bundle = { ...head, redacted: { secrets: redact, values: rewriter.taken() }, runs: written };
  return { bundle, events: runs.reduce((sum, run) => sum + (run.events?.length ?? 0), 0) };
}

function exportedLines({ file, runs, events, redacted }: Exported, { command }: Context, { style }: Screen) {
  const many = runs === 1 ? '' : ` in ${runs} runs`;
  return [
    style.good(`wrote ${visible(file)}: ${count(events)} events${many}`),
    redacted.secrets
      ? `Took out ${count(redacted.values)} values that look like secrets. It is a net, not a proof: look before you send it.`
      : style.warn('Secrets are still in it, and nothing is encrypted: send it to nobody.'),
    `${style.quiet('read it with')}  ${style.link(command(`timeline ${file}`))}`,
  ];
}
