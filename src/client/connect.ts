import { Client, Connection, type ClientOptions, type ConnectionLike } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { payloadConverter as lenient } from '../encryption/bundle-converters';
import { loadEncryption } from '../encryption/load';
import { CountersignError } from '../contract/errors';
import { isKeyRefused, refusedAt, SERVER_HINTS } from '../contract/text/server-hints';
import { makeDecode } from '../history/decode/decode';
import { proxyArgs } from '../system/loopback';
import { reasonOfNoAnswer } from '../system/server-probe';
import { type ResolvedPlace, resolvePlace } from '../system/temporal-settings';
import { detailsOf, isUpdateLimit, grpcStatusOf } from '../history/server-errors';
import { openFileStore } from '../store';
import { JobLimiter, KeyedLimiter } from '../contract/job-limiter';
import { makeRetries } from './retries';
import { limitVisibility, VisibilityLimit } from './visibility';
import type { ConnectOptions } from './types';
import { Countersign } from './countersign';
import { readStreamPlace } from './streamed-text';

const READY_MS = 60_000;
/** The time that one request waits for a server that limits reading. */
const PATIENCE_MS = 8_000;

/**
 * One page of history holds up to 256 events of up to 2 MiB. The SDK sets this limit, too, but under a misspelt name.
 */
const CHANNEL = { 'grpc.max_receive_message_length': 128 * 1024 * 1024 };

/**
 * Connects to the turns of one namespace.
 *
 * @throws CountersignError `no_server` when no server answers in time, `config_invalid` when settings cannot be
 * read.
 * @example
 * const client = await connect();
 * const { turn } = await client.start({ agent: 'editor', prompt: 'fix the typo in README.md' });
 * for await (const event of client.follow(turn)) show(event);
 */
export async function connect(options: ConnectOptions = {}): Promise<Countersign> {
  const { env } = options;
  const stream = readStreamPlace(options.stream, env);
  const { client, listing, close } = options.client
    ? { client: options.client, listing: listingOf(options.client), close: async () => {} }
    : await dial(options);
  const { namespace, loadedDataConverter } = client.options;
  const limit = limitOf(client.connection);
  const limited = (lane: 'reader' | 'others', patienceMs: number) =>
    limitVisibility(client.connection, { limit, lane, patienceMs });
  const connection = limited('others', PATIENCE_MS);
  const listers = {
    lister: new Client({ ...listing, connection }),
    reader: new Client({ ...listing, connection: limited('reader', 0) }),
  };
  const source = { connection, namespace, decode: makeDecode(loadedDataConverter) };
  const readyMs = options.readyMs ?? READY_MS;
  const sendLimit = new KeyedLimiter(AT_ONCE_PER_TURN, new JobLimiter(AT_ONCE));
  let store: ReturnType<typeof openFileStore>;
  const files = () =>
    (store ??= openFileStore(options.files, {
      sealer: loadEncryption(options.encryption, env).fileSealer(),
      env,
    }));
  return new Countersign(
    { client, ...listers, limit, connection, namespace, source, sendLimit, files, stream, readyMs },
    close,
  );
}

/**
 * The most messages that one client sends at the same time. Further messages would wait at the server and count as
 * unanswered.
 */
const AT_ONCE = 50;

/**
 * The most messages that go to one turn at the same time. The server takes ten updates of a run at a time, and other
 * clients may send some, too.
 */
const AT_ONCE_PER_TURN = 8;

/** The limit of each connection. Several clients of one connection share it. */
const limits = new WeakMap<ConnectionLike, VisibilityLimit>();

function limitOf(connection: ConnectionLike): VisibilityLimit {
  const limit = limits.get(connection) ?? new VisibilityLimit();
  limits.set(connection, limit);
  return limit;
}

type Listing = Pick<ClientOptions, 'namespace' | 'identity' | 'dataConverter'>;

/**
 * Options of the client that lists turns. A memo that cannot be read is left out, so that one turn does not hide the
 * others. A user's own converter is kept.
 */
function listingOf(client: Client): Listing {
  const { namespace, identity, loadedDataConverter } = client.options;
  const isOwn = loadedDataConverter.payloadConverter !== defaultPayloadConverter;
  const dataConverter = isOwn ? loadedDataConverter : { ...loadedDataConverter, payloadConverter: lenient };
  return { namespace, identity, dataConverter };
}

/**
 * The SDK's retries. The SDK does not retry if a turn has too many updates at once. The code that sends the update
 * retries then, because the turn is soon free again.
 */
const RETRIES = makeRetries((details) => !isUpdateLimit(details));

async function dial(
  options: ConnectOptions,
): Promise<{ client: Client; listing: Listing; close: () => Promise<void> }> {
  const encryption = loadEncryption(options.encryption, options.env);
  const settings = resolvePlace(options, options.env);
  const given = options.connection;
  const connection = given ?? (await openConnection(settings, options.timeoutMs));
  const base = { namespace: settings.namespace, identity: options.identity };
  const client = new Client({ ...base, connection, dataConverter: encryption.client() });
  const listing = { ...base, dataConverter: encryption.listing() };
  return { client, listing, close: async () => (given === undefined ? connection.close() : undefined) };
}

async function openConnection(settings: ResolvedPlace, connectTimeout?: number): Promise<Connection> {
  const connection = Connection.lazy({
    address: settings.address,
    interceptors: [RETRIES],
    ...settings.connection,
    connectTimeout,
    channelArgs: { ...CHANNEL, ...proxyArgs(settings.address) },
  });
  try {
    await connection.ensureConnected();
    return connection;
  } catch (cause) {
    await connection.close();
    throw await noServer(settings, cause);
  }
}

async function noServer(settings: ResolvedPlace, cause: unknown) {
  const { address } = settings;
  const extras = { data: { address }, cause };
  const said = detailsOf(cause);
  if (isKeyRefused(grpcStatusOf(cause)))
    return new CountersignError('no_server', refusedAt(address, said), {
      ...extras,
      hint: SERVER_HINTS.keyRefused,
    });
  const hint = SERVER_HINTS[await reasonOfNoAnswer(settings)];
  return new CountersignError('no_server', `no Temporal server answers at ${address}: ${said}`, {
    ...extras,
    hint,
  });
}
