/**
 * `countersign/workflow`: gates calls in one's own workflows. Runs in Temporal's workflow sandbox.
 * `agentTurn` is exported again from one's own workflows file, where one worker runs turns and workflows of its own.
 *
 * @module
 */
export { agentTurn } from '../agent-turn';
export { createGate } from './gate';
export type {
  CarriedGate,
  Gate,
  GateAllowed,
  GateDecision,
  GateForbidden,
  GateOptions,
  GateRequest,
} from './request';
