import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Connection } from '@temporalio/client';
import { freePorts } from '../../../src/engine/server-args';
import { LOOPBACK_HOST } from '../../../src/system/loopback';
import { makeApiKeys, type ApiKeys } from './api-keys';
import { makeCertificates, SERVER_NAME, type Certificates } from './certificates';
import { until } from '../../support/until';

/** A server as a company runs it: TLS, an authorizer, API keys. */
export interface GuardedServer {
  address: string;
  certificates: Certificates;
  keys: ApiKeys;
  /** Settings of a client that is let in with this key. */
  env(apiKey: string): Record<string, string>;
  /** A connection that may do everything. */
  admin: Connection;
  stop(): Promise<void>;
}

/** Starts the server that the cluster runs, with a database in a file; it is there for who may do what, not for durability. */
export const startGuardedServer = async (bin: string): Promise<GuardedServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-guarded-'));
  const certificates = makeCertificates(directory);
  const keys = makeApiKeys(join(directory, 'keys.json'));
  const ports = await freePorts(12);
  const address = `${LOOPBACK_HOST}:${ports[0]}`;
  const log = join(directory, 'server.log');
  const stop = launch(
    join(bin, 'temporal-server'),
    { ...settings(directory, certificates, keys), ...listen(ports) },
    log,
  );
  try {
    const admin = await adminOf(address, certificates, keys.make('temporal-system:admin'));
    const env = (apiKey: string): Record<string, string> => ({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_API_KEY: apiKey,
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificates.ca,
      TEMPORAL_TLS_SERVER_NAME: SERVER_NAME,
    });
    const end = async (): Promise<void> => {
      await admin.close();
      await stop();
      rmSync(directory, { recursive: true, force: true });
    };
    return { address, certificates, keys, env, admin, stop: end };
  } catch (error) {
    await stop();
    throw new Error(`the guarded server did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`, {
      cause: error,
    });
  }
};

/** The server's own tasks go to a frontend of their own, which asks nobody for a key. */
const settings = (
  directory: string,
  { cert, key }: Certificates,
  { publicKeys }: ApiKeys,
): Record<string, string> => ({
  DB: 'sqlite',
  DBNAME: join(directory, 'temporal.db'),
  VISIBILITY_DBNAME: join(directory, 'visibility.db'),
  LOG_LEVEL: 'warn',
  NUM_HISTORY_SHARDS: '1',
  BIND_ON_IP: LOOPBACK_HOST,
  DYNAMIC_CONFIG_FILE_PATH: join(__dirname, '..', '..', '..', 'deploy', 'dynamicconfig.yaml'),
  USE_INTERNAL_FRONTEND: 'true',
  TEMPORAL_SERVICES: 'frontend,internal-frontend,history,matching,worker',
  TEMPORAL_TLS_FRONTEND_CERT: cert,
  TEMPORAL_TLS_FRONTEND_KEY: key,
  TEMPORAL_AUTH_AUTHORIZER: 'default',
  TEMPORAL_AUTH_CLAIM_MAPPER: 'default',
  TEMPORAL_JWT_KEY_SOURCE1: pathToFileURL(publicKeys).href,
});

const PORTS = ['FRONTEND', 'INTERNAL_FRONTEND', 'MATCHING', 'HISTORY', 'WORKER'].flatMap((service) => [
  `${service}_GRPC_PORT`,
  `${service}_MEMBERSHIP_PORT`,
]);

const listen = (ports: readonly number[]): Record<string, string> =>
  Object.fromEntries(
    [...PORTS, 'FRONTEND_HTTP_PORT', 'INTERNAL_FRONTEND_HTTP_PORT'].map((name, index) => [
      name,
      String(ports[index]),
    ]),
  );

const launch = (program: string, env: Record<string, string>, log: string): (() => Promise<void>) => {
  const output = openSync(log, 'w');
  const child = spawn(program, ['start'], { env, stdio: ['ignore', output, output] });
  closeSync(output);
  const gone = once(child, 'exit');
  return async () => {
    child.kill('SIGKILL');
    await gone;
  };
};

const adminOf = (address: string, { ca }: Certificates, apiKey: string): Promise<Connection> =>
  until('the guarded server to answer', async () => {
    const tls = { serverNameOverride: SERVER_NAME, serverRootCACertificate: readFileSync(ca) };
    try {
      const connection = await Connection.connect({ address, apiKey, tls, connectTimeout: 1_000 });
      await connection.workflowService.listNamespaces({});
      return connection;
    } catch {
      return undefined;
    }
  });
