import type { ClientConnectConfig } from '@temporalio/envconfig';

/** Told one line at a time what takes long and how far it is; no line ends in a newline. */
export type Progress = (line: string) => void;

/** The ways to a Temporal server, in the order in which they are tried. */
export const ROUTES = ['existing', 'setting', 'path', 'cache', 'download', 'go'] as const;
export type RouteName = (typeof ROUTES)[number];

/** A server that somebody else runs: nothing is started. */
export interface ExistingEngine {
  kind: 'existing';
  address: string;
  namespace: string;
  /** What `Connection.connect` and `NativeConnection.connect` take: address, TLS, API key, headers. */
  connection: ClientConnectConfig['connectionOptions'];
}

/** The official command line of Temporal, which can start a server on this machine. */
export interface BinaryEngine {
  kind: 'binary';
  /** Path or command name; give it to `startServer`. */
  binary: string;
  /** Version of the command line, without a leading `v`. */
  version: string;
  route: Exclude<RouteName, 'existing'>;
}

export type Engine = ExistingEngine | BinaryEngine;

/** Why a route leads nowhere, in words for a person. `absent`: there simply is nothing, which is no news. */
export interface Miss {
  missed: string;
  absent?: true;
}

/** What a route came to. */
export type Attempt = { engine: Engine } | Miss;

/** One way to an engine. `attempt` throws only what should stop the search: a setting that is wrong. */
export interface Route {
  name: RouteName;
  /** True when it downloads or builds, so that a mere look can leave it out. */
  acquires: boolean;
  attempt(): Promise<Attempt>;
}
