/**
 * `countersign/testing`: what tests of agents need. A scripted model, a server for a test run, a worker with a client on a
 * queue of its own, and decisions as a person would make them. Everything that runs is the real thing.
 *
 * @module
 */
export { scriptedModel, type ScriptedCall, type ScriptedReply, type ScriptedStep } from '../models/scripted';
export { startTestServer, type TestServer, type TestServerOptions } from './server';
export { startBench, type BenchOptions, type TestBench } from './bench';
export { waitForEnd, waitForRequest, type WaitOptions } from './wait';
export { approveNext, denyNext, type ApproveOptions, type NextOptions } from './decide-next';
