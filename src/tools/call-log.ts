import { z } from 'zod';
import type { JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import type { Safety } from '../contract/tool';
import { redactSecrets, redactText } from '../contract/text/redact';
import { unitEscapes } from '../contract/text/bytes';

/** The log levels of Temporal's loggers. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Receives log lines; Temporal's own loggers fit. Contract: does not throw. */
interface LineLogger {
  log(level: LogLevel, message: string): void;
}

/** The schema of the config's option `log`. */
export const callLogOptions = z.strictObject({
  /** Level of the lines about calls; failures are at least `WARN`. @default 'INFO' */
  level: z.enum(LOG_LEVELS).default('INFO'),
  /** Whether calls are logged. Calls of cautious tools are always logged. @default true */
  calls: z.boolean().default(true),
});

export interface CallLogOptions extends z.input<typeof callLogOptions> {}

/**
 * Logs calls and their outcomes, one line each. A line has no secrets or control characters, and long values are cut.
 */
export interface CallLog {
  /** `TOOL_CALL tool=… args={…}` */
  call(tool: string, safety: Safety | null, args: JsonObject): void;
  /** `TOOL_SUCCESS tool=… duration=…ms content='…'` or `TOOL_FAILED tool=… duration=…ms error=[code] message` */
  end(result: ToolResult): void;
  /** Logs a problem that does not change the outcome of a call. */
  warn(message: string): void;
  /** A message of a handler: `TOOL_LOG tool=… call=… message` */
  line(level: LogLevel, of: { tool: string; callId: string }, text: string): void;
}

/** The most characters of arguments, content or message in one line. */
const SHOWN = 500;

/** The most characters of a text that are redacted, so that a long text costs little. A line shows far fewer. */
const READ = 64 * 1024;

/** Makes a call log that writes to a logger. */
export function createCallLog(logger: LineLogger, options: CallLogOptions = {}): CallLog {
  const { level = 'INFO', calls = true } = options;
  const wants = (safety: Safety | null) => calls || safety === 'cautious';
  return {
    call(tool, safety, args) {
      if (wants(safety))
        logger.log(
          level,
          `TOOL_CALL tool=${shown(tool)} args=${shown(JSON.stringify(redactSecrets(args)).slice(0, READ))}`,
        );
    },
    end(result) {
      if (!wants(result.metadata.safety_level)) return;
      logger.log(result.success || level === 'ERROR' ? level : 'WARN', describeEnd(result));
    },
    warn: (message) => logger.log('WARN', shown(readable(message))),
    line: (level, { tool, callId }, text) =>
      logger.log(level, `TOOL_LOG tool=${shown(tool)} call=${shown(callId)} ${shown(readable(text))}`),
  };
}

function describeEnd({ tool, content, error, metadata }: ToolResult) {
  const head = `tool=${shown(tool)} duration=${Math.round(metadata.execution_time_ms)}ms`;
  if (error === undefined)
    return `TOOL_SUCCESS ${head} content='${shown(readable(content)).replaceAll("'", "\\'")}'`;
  return `TOOL_FAILED ${head} error=[${error.code}] ${shown(readable(error.message))}`;
}

function readable(text: string) {
  return redactText(text.slice(0, READ));
}

/** Control characters, unpaired surrogates, and characters that change the direction of text. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff\p{Surrogate}]/gu;

function shown(text: string) {
  const head = text.length > SHOWN ? `${text.slice(0, SHOWN)}... (${text.length} characters)` : text;
  return head.replace(UNPRINTABLE, escape);
}

function escape(character: string) {
  const known = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
  return known ?? unitEscapes(character);
}
