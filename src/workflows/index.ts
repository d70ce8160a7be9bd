/** Entry of the workflow bundle. */
export { agentSession } from './session/agent-session';
export { agentTurn } from './agent-turn';
export { countersignControl } from './control/countersign-control';
export { countersignGrant } from './control/countersign-grant';
