import type { Abandonment, Decision, Resolution } from '../../contract/decision';
import { DECISIONS, RESOLUTIONS } from '../../contract/decision';
import { isObject, isSoundJson, type JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { checkSchema } from '../../contract/schema';
import type { OutcomeReport } from '../../contract/call';
import type { Issue, JsonSchema } from '../../contract/tool';

const text: JsonObject = { type: 'string', maxLength: 1000 };
const id: JsonObject = { type: 'string', minLength: 1, maxLength: 200 };
const reason: JsonObject = { type: 'string', maxLength: LIMITS.reasonBytes };

const DECISION: JsonSchema = {
  type: 'object',
  properties: {
    callId: id,
    decision: { enum: [...DECISIONS] },
    arguments: { type: 'object' },
    hunks: { type: 'array', items: id, maxItems: 10_000 },
    reason,
    approver: text,
    channel: text,
    authenticated: { const: true },
    argsDigest: text,
    callKey: text,
    decisionId: id,
  },
  required: ['callId', 'decision'],
  additionalProperties: false,
};

const RESOLUTION: JsonSchema = {
  type: 'object',
  properties: {
    callId: id,
    resolution: { enum: [...RESOLUTIONS] },
    reason,
    content: { type: 'string', maxLength: LIMITS.outputBytes },
    approver: text,
    channel: text,
    authenticated: { const: true },
    callKey: text,
    decisionId: id,
  },
  required: ['callId', 'resolution'],
  additionalProperties: false,
};

const ABANDONMENT: JsonSchema = { type: 'object', properties: { reason, approver: text } };

const OUTCOME: JsonSchema = {
  type: 'object',
  properties: {
    callKey: id,
    generation: { type: 'integer' },
    result: {
      type: 'object',
      properties: { success: { type: 'boolean' }, content: { type: 'string' }, callId: id },
      required: ['id', 'callId', 'tool', 'success', 'content', 'metadata'],
    },
  },
  required: ['callKey', 'generation', 'result'],
};

const UNSOUND = 'it has a number that JSON cannot write, a key __proto__, or more than 100 levels';

/** A message that was understood, or why it was not. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

/** Reads a decision of any sender. Never throws. */
export function parseDecision(value: unknown): Parsed<Decision> {
  if (!isDecision(value)) return malformed(DECISION, value, 'decision');
  if (value.decision === 'modified' && value.arguments === undefined) {
    return { ok: false, message: '"modified" needs the whole new arguments in "arguments"' };
  }
  if (value.decision !== 'modified' && value.arguments !== undefined) {
    return { ok: false, message: '"arguments" only goes with "modified"' };
  }
  if (value.decision !== 'approved' && value.hunks !== undefined) {
    return { ok: false, message: '"hunks" only goes with "approved"' };
  }
  return { ok: true, value };
}

/** Reads a resolution of any sender. Never throws. */
export function parseResolution(value: unknown): Parsed<Resolution> {
  if (!isResolution(value)) return malformed(RESOLUTION, value, 'resolution');
  if (value.resolution !== 'happened' && value.content !== undefined) {
    return { ok: false, message: '"content" only goes with "happened"' };
  }
  return { ok: true, value };
}

/** Reads the report of a late call. Never throws. */
export function parseOutcome(value: unknown): Parsed<OutcomeReport> {
  return isOutcome(value) ? { ok: true, value } : malformed(OUTCOME, value, 'outcome');
}

/** Reads an abandonment; a payload that cannot be read still abandons, without a reason. */
export function parseAbandonment(value: unknown): Abandonment {
  return isAbandonment(value) ? value : {};
}

function isDecision(value: unknown): value is Decision {
  return fits(DECISION, value);
}

function isResolution(value: unknown): value is Resolution {
  return fits(RESOLUTION, value);
}

function isOutcome(value: unknown): value is OutcomeReport {
  return fits(OUTCOME, value);
}

function isAbandonment(value: unknown): value is Abandonment {
  return fits(ABANDONMENT, value);
}

/** A handler that threw would stall its turn for good, so what later code could choke on is no message. */
function fits(schema: JsonSchema, value: unknown): boolean {
  return isSoundJson(value) && checkSchema(schema, value).length === 0;
}

function malformed(schema: JsonSchema, value: unknown, what: string): { ok: false; message: string } {
  if (!isObject(value)) return { ok: false, message: `a ${what} is a JSON object, this is ${nameOf(value)}` };
  if (!isSoundJson(value)) return { ok: false, message: `not a ${what}: ${UNSOUND}` };
  return { ok: false, message: `not a ${what}: ${describeIssues(checkSchema(schema, value))}` };
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

/** Issues in one line, at most five. */
export function describeIssues(issues: readonly Issue[]): string {
  const lines = issues
    .slice(0, 5)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return lines.join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '');
}
