import type { JsonObject } from '../contract/json';
import { shellWord } from '../contract/text/shell-word';

/** The clients whose entry can be printed. */
export const CLIENTS = ['claude-code', 'claude-desktop', 'codex', 'copilot', 'cursor', 'vscode'] as const;
type McpClient = (typeof CLIENTS)[number];

/** The entry of a gateway: its name at the client, and the command that starts it. */
interface GatewayEntry {
  name: string;
  command: string;
  args: readonly string[];
}

/** Where a client keeps its servers, and the field that holds them. */
const FILES: Readonly<Record<Exclude<McpClient, 'claude-code' | 'codex'>, [file: string, field: string]>> = {
  'claude-desktop': ['claude_desktop_config.json', 'mcpServers'],
  copilot: ['~/.copilot/mcp-config.json', 'mcpServers'],
  cursor: ['~/.cursor/mcp.json', 'mcpServers'],
  vscode: ['.vscode/mcp.json', 'servers'],
};

/** The lines by which a person enters a gateway at a client. Nothing is written for them. */
export function installLines(client: McpClient, { name, command, args }: GatewayEntry): string[] {
  const words = [command, ...args].map(shellWord).join(' ');
  if (client === 'claude-code') return ['Run this:', '', `claude mcp add ${shellWord(name)} -- ${words}`];
  if (client === 'codex')
    return [
      'Add this to ~/.codex/config.toml:',
      '',
      `[mcp_servers.${name}]`,
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
    ];
  const [file, field] = FILES[client];
  const entry: JsonObject = { command, args: [...args] };
  return [`Add this to ${file}:`, '', JSON.stringify({ [field]: { [name]: entry } }, null, 2)];
}
