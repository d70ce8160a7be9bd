/** Finds a Temporal server or starts one. */
export { resolveEngine } from './resolve';
export type { ResolveOptions } from './resolve';
export { existingServer } from './existing';
export type { BinaryEngine, Engine, ExistingEngine, Progress, Route, RouteName } from './engine';
export { startServer } from './server';
export type { RunningServer, StartOptions } from './server';
export type { ServerExit } from './server-process';
export { ATTRIBUTE_TYPES, DYNAMIC_CONFIG } from './server-args';
export { CLI_OLDEST, CLI_VERSION, GO_OLDEST } from './version';
