import type { JsonObject } from '../contract/json';
import { isObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import type { OpenMemo } from '../contract/turn';
import { readAnswer } from '../tools/mcp/result';

/** The answer to a call, as a client of MCP reads it. */
interface CallAnswer {
  content: JsonObject[];
  isError?: true;
  structuredContent?: JsonObject;
}

/** An answer that is one text. */
export function textAnswer(text: string, isError?: true): CallAnswer {
  return { content: [{ type: 'text', text }], ...(isError && { isError }) };
}

/** The answer for a result. What a server returned comes as it was, after what people said about the call. */
export function answerOf(result: ToolResult): CallAnswer {
  const { content, success, blocks } = result;
  if (!success) return textAnswer(content, true);
  if (!isAnswer(blocks)) return textAnswer(content);
  const { structuredContent } = blocks;
  const note = noteBefore(content, readAnswer(blocks, { server: result.server, tool: result.tool }));
  const notes = note === '' ? [] : [{ type: 'text', text: note }];
  return {
    content: [...notes, ...blocks.content],
    ...(isObject(structuredContent) && { structuredContent }),
  };
}

interface Blocks extends JsonObject {
  content: JsonObject[];
}

function isAnswer(blocks: JsonObject | undefined): blocks is Blocks {
  const content = blocks?.['content'];
  return (
    Array.isArray(content) && content.every((block) => isObject(block) && typeof block['type'] === 'string')
  );
}

/** The beginning of a text by which it is found again. A long text may have been cut at its end. */
const FOUND_BY = 200;

/** What stands before the output of the tool. A short output may stand in the note, too. */
function noteBefore(content: string, output: string) {
  const at = content.endsWith(output)
    ? content.length - output.length
    : content.indexOf(output.slice(0, FOUND_BY));
  return content.slice(0, Math.max(at, 0)).trim();
}

/** The name of the tool with which a client waits for a call. */
export const WAIT_TOOL = 'countersign_wait';

/** It, as `tools/list` has it. */
export const WAIT_DEFINITION = {
  name: WAIT_TOOL,
  description:
    'Waits for a call that a person has not decided on yet, and returns its result. Use it with the id that the pending call gave; do not make that call again.',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string', description: 'The id of the pending call.' } },
    required: ['id'],
  },
} as const;

/** The answer to a call whose time to wait is over. */
export function pendingAnswer(id: string, open: OpenMemo | undefined): CallAnswer {
  return textAnswer(
    `Pending: ${waitLine(open)} Nothing more is needed from you to keep it waiting. Call ${WAIT_TOOL} with the id ${id} to get its result; do not make the call again.`,
  );
}

/** What a call waits for, in one sentence. */
function waitLine(open: OpenMemo | undefined): string {
  const [item] = open?.items ?? [];
  if (item === undefined) return 'the call is under way.';
  const { kind, summary, deadline } = item;
  const until = deadline === null ? '' : `, until ${deadline}`;
  if (kind === 'in_doubt') return `nobody knows yet whether ${summary} took effect; a person has to say.`;
  return kind === 'request'
    ? `a person has to decide on ${summary}${until}.`
    : `a person has to answer ${summary}${until}.`;
}

/** The name of the extension of MCP by which a client waits for a call as a task. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** The state of a call on record. */
export interface TaskState {
  id: string;
  status: 'working' | 'completed' | 'failed' | 'cancelled';
  /** ISO 8601. */
  createdAt: string;
  lastUpdatedAt: string;
  /** Whether the tool runs. */
  runs: boolean;
  /** What waits for a person. */
  open: OpenMemo | undefined;
}

/** The time after which a client should ask again, in milliseconds. */
const POLL_MS = 1_000;

/** A call as a task. The record of a task is kept as long as the server keeps its turn. */
export function taskOf({ id, status, createdAt, lastUpdatedAt, open }: TaskState) {
  const said = status === 'working' ? { statusMessage: waitLine(open) } : {};
  return { taskId: id, status, ...said, createdAt, lastUpdatedAt, ttlMs: null, pollIntervalMs: POLL_MS };
}

/** Whether the client of a request waits for calls as tasks. */
export function takesTasks(envelope: Readonly<Record<string, unknown>> = {}): boolean {
  const capabilities = envelope['io.modelcontextprotocol/clientCapabilities'];
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS]);
}
