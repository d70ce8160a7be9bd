import type { ToolFailure } from '../contract/result';
import { isToolError, isTransportError } from './errors';
import { messageOf, stackOf, toDetails } from './thrown';

/** What something thrown by a tool's function means: `transport`, what a ToolError says, or `tool` with its stack. Never throws. */
export function describeFailure(thrown: unknown): ToolFailure {
  const message = messageOf(thrown);
  if (isTransportError(thrown)) return { code: 'transport', message };
  if (isToolError(thrown)) {
    const { code, details } = thrown;
    return { code, message, ...(details === undefined ? {} : { details: toDetails(details) }) };
  }
  const stack = stackOf(thrown);
  return { code: 'tool', message, ...(stack === undefined ? {} : { stack }) };
}
