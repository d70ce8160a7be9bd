import { Client, Connection } from '@temporalio/client';
import { loadEncryption } from '../encryption/load';
import { CountersignError } from '../contract/errors';
import { refusedAt, SERVER_HINTS } from '../contract/server-hints';
import { makeDecode } from '../history/decode';
import { defined } from '../history/defined';
import { detailsOf, STATUS, statusOf } from '../history/server-errors';
import { makeCountersign } from './countersign';
import type { Desk } from './desk';
import { hintForNoAnswer } from './no-answer';
import { readSettings, type Settings } from './settings';
import type { ConnectOptions, Countersign } from './types';

const TIMEOUT_MS = 5_000;
const READY_MS = 60_000;

/**
 * Connects to the turns of one namespace.
 *
 * @throws CountersignError `no_server` when no server answers in time, `config_invalid` or `encryption_invalid` when settings
 * cannot be read.
 * @example
 * const desk = await connect();
 * const { turn } = await desk.start({ agent: 'editor', prompt: 'fix the typo in README.md' });
 * for await (const event of desk.follow(turn)) show(event);
 */
export async function connect(options: ConnectOptions = {}): Promise<Countersign> {
  const { client, lister, close } = options.client
    ? { client: options.client, lister: options.client, close: async () => {} }
    : await dial(options);
  const { connection } = client;
  const { namespace, loadedDataConverter } = client.options;
  const source = { connection, namespace, decode: makeDecode(loadedDataConverter) };
  return makeCountersign(
    { client, lister, connection, namespace, source, readyMs: options.readyMs ?? READY_MS },
    close,
  );
}

async function dial(
  options: ConnectOptions,
): Promise<Pick<Desk, 'client' | 'lister'> & { close: () => Promise<void> }> {
  const encryption = loadEncryption(options.encryption);
  const settings = readSettings(options);
  const given = options.connection;
  const connection = given ?? (await openConnection(settings, options.timeoutMs ?? TIMEOUT_MS));
  const base = { connection, namespace: settings.namespace, ...defined({ identity: options.identity }) };
  const client = new Client({ ...base, dataConverter: encryption.client() });
  const lister = new Client({ ...base, dataConverter: encryption.listing() });
  return { client, lister, close: async () => (given === undefined ? connection.close() : undefined) };
}

async function openConnection(settings: Settings, connectTimeout: number): Promise<Connection> {
  try {
    return await Connection.connect({ address: settings.address, ...settings.connection, connectTimeout });
  } catch (cause) {
    throw await noServer(settings, cause);
  }
}

async function noServer(settings: Settings, cause: unknown): Promise<CountersignError> {
  const { address } = settings;
  const extras = { data: { address }, cause };
  const said = detailsOf(cause);
  if (isRefused(cause))
    return new CountersignError('no_server', refusedAt(address, said), {
      ...extras,
      hint: SERVER_HINTS.keyRefused,
    });
  const hint = await hintForNoAnswer(settings);
  return new CountersignError('no_server', `no Temporal server answers at ${address}: ${said}`, {
    ...extras,
    hint,
  });
}

/** The server answered, and lets nobody in with this key. */
function isRefused(error: unknown): boolean {
  const status = statusOf(error);
  return status === STATUS.permissionDenied || status === STATUS.unauthenticated;
}
