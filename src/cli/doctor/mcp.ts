import { counted } from '../../history/labels';
import type { Config } from '../../tools/define-config';
import { loginCommand } from '../../tools/mcp/authorization';
import { countDecided, isFine, namedServers, othersIn, reportLive, type ServerReport } from '../mcp-servers';
import { failed, type Finding } from './machine';

/**
 * Whether each MCP server of a config still answers in the way that a person allowed. Only allowed servers are started.
 */
export async function checkMcp(config: Config): Promise<Finding[]> {
  try {
    const named = await namedServers(config);
    return (await Promise.all(named.map((one) => reportLive(one, config)))).map(findingOf);
  } catch (error) {
    return [failed('MCP servers', error)];
  }
}

function findingOf(report: ServerReport): Finding {
  const { server, state, why, login, tools, tokens } = report;
  const name = `MCP server ${server}`;
  const todo = `countersign mcp allow ${server}`;
  const failedTodo = login === 'needed' ? loginCommand(server) : `countersign mcp test ${server}`;
  if (state === 'failed') return { name, state: 'bad', detail: why ?? '', todo: failedTodo };
  // `why` says what to do.
  if (state === 'not_allowed') return { name, state: 'warning', detail: why ?? '' };
  const detail = `${countDecided(tools)}, about ${counted(tokens, 'token')}`;
  const rest = othersIn(tools)
    .map(({ tool, standing }) => `${tool} is ${standing}`)
    .join(', ');
  if (isFine(report)) return { name, state: 'ok', detail: rest === '' ? detail : `${detail}; ${rest}` };
  return { name, state: 'warning', detail: `${detail}; ${rest}`, todo };
}
