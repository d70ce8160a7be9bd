/** Entry of the workflow bundle. */
export { agentTurn } from './agent-turn';
