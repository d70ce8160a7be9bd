import { join } from 'node:path';
import { connect, type Countersign } from '../../client';
import { resolveEngine, startServer, type Engine } from '../../engine';
import { offlineModel } from '../../models/offline';
import { defineAgent } from '../../tools/define-agent';
import { defineConfig, type Config } from '../../tools/define-config';
import { createWorkspaceTools } from '../../tools/workspace';
import { startWorker } from '../../worker';
import { SCENE } from './scene';

/** Server, worker and a desk to decide at, all in this process. */
export interface Stage {
  desk: Countersign;
  taskQueue: string;
  /** Temporal's own UI; undefined on a server that was there already. */
  uiUrl?: string;
  /** Ends all of it, in order, whatever of it stands. */
  close(): Promise<void>;
}

/** What a stage is built with. */
export interface StageOptions {
  root: string;
  env: NodeJS.ProcessEnv;
  note(text: string): void;
}

/** Gets a server, starts a worker, connects. What stands already is taken down when a later part fails. */
export async function buildStage(options: StageOptions): Promise<Stage> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    return { ...(await buildParts(options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function buildParts(
  { root, env, note }: StageOptions,
  closers: (() => Promise<void>)[],
): Promise<Omit<Stage, 'close'>> {
  const engine = await resolveEngine(env, { progress: note });
  const server = await openServer(engine, note);
  closers.push(server.stop);
  note('starting a worker');
  const config = demoConfig(root);
  const { address, namespace, uiUrl } = server;
  const worker = await startWorker({
    config,
    address,
    namespace,
    logLevel: 'ERROR',
    stateDir: join(root, '..', 'state'),
  });
  closers.push(worker.stop);
  const desk = await connect({ address, namespace });
  closers.push(() => desk.close());
  return { desk, taskQueue: config.taskQueue, ...(uiUrl === undefined ? {} : { uiUrl }) };
}

interface Place {
  address: string;
  namespace: string;
  uiUrl?: string | undefined;
  stop(): Promise<void>;
}

async function openServer(engine: Engine, note: (text: string) => void): Promise<Place> {
  if (engine.kind === 'existing') {
    note(`using the Temporal server at ${engine.address}`);
    return { ...engine, stop: () => Promise.resolve() };
  }
  note(`starting a Temporal server (${engine.version}) that ends with the demo`);
  return startServer({ binary: engine.binary, progress: note });
}

/** A queue of its own: on a server that is there already no other worker must take the demo's turn. */
function demoConfig(root: string): Config {
  const agent = defineAgent({
    name: SCENE.agent,
    instructions: 'You keep the files of a small company. Look before you change anything.',
    model: offlineModel(),
    tools: createWorkspaceTools({ root }),
  });
  return defineConfig({ agents: [agent], taskQueue: `countersign-demo-${process.pid}` });
}
