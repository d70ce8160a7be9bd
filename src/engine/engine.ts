import type { TemporalSettings } from '../system/temporal-settings';

/** Receives lines about the progress of slow work. No line ends in a newline. */
export type Progress = (line: string) => void;

/** The ways to a Temporal server, in the order in which they are tried. */
export const ENGINE_ROUTES = ['existing', 'setting', 'path', 'cache', 'download', 'go'] as const;
export type RouteName = (typeof ENGINE_ROUTES)[number];

/** A server that already runs, so that nothing is started. */
export interface ExistingEngine {
  kind: 'existing';
  address: string;
  namespace: string;
  connection: TemporalSettings['connection'];
}

/** The official command line of Temporal, which can start a server on this machine. */
export interface BinaryEngine {
  kind: 'binary';
  /** The path or the command name that `startServer` takes. */
  binary: string;
  /** Version of the command line, without a leading `v`. */
  version: string;
  route: Exclude<RouteName, 'existing'>;
}

export type Engine = ExistingEngine | BinaryEngine;

/** Why a route found no server, for a person. `absent`: nothing is installed there, which is not worth a message. */
export interface Miss {
  missed: string;
  absent?: true;
}

/** The result of a route. */
export type Attempt = { engine: Engine } | Miss;

/** One way to an engine. `attempt` throws only for a wrong setting, which stops the search. */
export interface EngineRoute {
  /** True if this route downloads or builds a binary, so that a search without side effects can skip it. */
  acquires: boolean;
  attempt(): Promise<Attempt>;
}
