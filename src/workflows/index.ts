/** Entry of the workflow bundle. */
export { agentSession } from './agent-session';
export { agentTurn } from './agent-turn';
