import { resolveEngine, startServer, type Progress } from '../engine';
import { CountersignError } from '../contract/errors';

/** How to get a server for a test run. */
export interface TestServerOptions {
  /** Told what is downloaded or built on a first run, and how far it is. @default nobody */
  progress?: Progress;
  /** @default 'default' */
  namespace?: string;
}

/** A Temporal server for one test run. */
export interface TestServer {
  address: string;
  namespace: string;
  /** Ends the server; everything in it is gone. Has no effect on one that `COUNTERSIGN_TEST_ADDRESS` names. */
  stop(): Promise<void>;
}

/**
 * Starts a Temporal server in memory on a free port; it also ends with this process, however that ends.
 * `TEMPORAL_ADDRESS` and `temporal.toml` are left out: a test must not reach a server that somebody works with. To use
 * one that runs already, name it in `COUNTERSIGN_TEST_ADDRESS`. The first run on a machine may download or build it.
 *
 * @throws CountersignError `no_server` with what was tried, `server_failed`.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { namespace = 'default', progress = () => undefined } = options;
  const address = process.env['COUNTERSIGN_TEST_ADDRESS'];
  if (address) return { address, namespace, stop: () => Promise.resolve() };
  const engine = await resolveEngine(withoutSettings(process.env), { progress });
  if (engine.kind === 'existing') throw new CountersignError('no_server', 'no server can be started here');
  const server = await startServer({ binary: engine.binary, headless: true, namespace, progress });
  return { address: server.address, namespace: server.namespace, stop: server.stop };
}

/** A file that does not exist names no server. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const rest = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(rest), TEMPORAL_CONFIG_FILE: '/nowhere/temporal.toml' };
}
