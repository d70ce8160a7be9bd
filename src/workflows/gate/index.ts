/**
 * `countersign/workflow`: gates calls in one's own workflows. Runs in Temporal's workflow sandbox.
 * `agentTurn` is exported again from one's own workflows file, if one worker runs turns and workflows of its own.
 *
 * @module
 */
export { agentTurn } from '../agent-turn';
export { createGate, gateTool } from './gate';
export type { AnyActivities, Gate, GateTool, GateToolOptions } from './gate';
export type { GateOutcome, GateRunRequest } from './run-request';
export type { CarriedGate } from '../../contract/gate';
export type { GateAllowed, GateDecision, GateForbidden, GateOptions, GateRequest } from './request';
