import type { Decode, History } from '../history/decode/decode';
import type { TurnEvent } from '../history/events';

import type { Context } from './context';
import { readTextFile } from '../system/named-files';

/**
 * Whether a name is the name of a file. What lies in the folder does not count: a file that an agent wrote there is not
 * shown in place of the turn of that name.
 */
export function isFile(named: string): boolean {
  return /^\.{0,2}[/\\]|\.json$/.test(named);
}

/**
 * Every event of a turn on the server, or of an exported file without any server.
 *
 * @throws CountersignError `not_found`, `file_failed`, `bad_history`, `key_missing`.
 */
export async function readTurnEvents(named: string, context: Context): Promise<TurnEvent[]> {
  if (!isFile(named)) return context.withClient(async (client) => client.timeline(await client.find(named)));
  const { turnEventsOfJson } = await import('../history/exported.js');
  return turnEventsOfJson(await readTextFile(named), await fileDecode(context));
}

/**
 * The history of each run of a turn on the server, or in an exported file.
 *
 * @throws CountersignError `not_found`, `file_failed`, `bad_history`.
 */
export async function readTurnRuns(named: string, context: Context): Promise<History[]> {
  if (!isFile(named)) return context.withClient(async (client) => client.histories(await client.find(named)));
  const { parseExport } = await import('../history/exported.js');
  return parseExport(await readTextFile(named));
}

/**
 * Decodes the payloads of a file with the keys of this process. The workflow to which a payload was bound is not
 * compared.
 */
export async function fileDecode(context: Context): Promise<Decode> {
  const { loadDataConverter } = await import('@temporalio/common/lib/internal-non-workflow/index.js');
  const { makeDecode } = await import('../history/decode/decode.js');
  const { loadEncryption } = await import('../encryption/load.js');
  const { encryptionKeyFile: keyFile } = context.options();
  return makeDecode(loadDataConverter(loadEncryption({ keyFile }, context.env).replay()));
}
