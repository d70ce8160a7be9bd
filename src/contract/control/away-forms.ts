import { LIMITS } from '../limits';
import type { JsonSchema } from '../tool';
import { type Away, type AwayAsked, type AwaySeen, type AwayState, type BackAsked, nobodyAway } from './away';
import { form, ID, MOMENT, NAME, reader, signatureBy, TEXT } from './forms';

const TERMS = { id: ID, from: NAME, to: NAME, start: MOMENT, end: MOMENT, at: MOMENT };
const GIVEN = { reason: TEXT, signature: signatureBy('ssh', 'inbox') };
const KEPT = form({ ...TERMS, takenAt: MOMENT }, GIVEN);
const HELD: JsonSchema = { type: 'array', items: KEPT, maxItems: LIMITS.away };
const ENDED: JsonSchema = {
  type: 'array',
  items: form({ id: ID, end: MOMENT }),
  maxItems: LIMITS.awayEnded,
};

const ASKED = form(TERMS, GIVEN);
const BACK = form({ id: ID, by: NAME });

/** The names of the fields that a client sends. */
export const AWAY_FIELDS = { asked: Object.keys(ASKED.properties), back: Object.keys(BACK.properties) };

export const isAwayAsked = /* @__PURE__ */ reader<AwayAsked>(ASKED);
export const isAway = /* @__PURE__ */ reader<Away>(KEPT);
export const isBackAsked = /* @__PURE__ */ reader<BackAsked>(BACK);
export const isAwaySeen = /* @__PURE__ */ reader<AwaySeen>(form({ entries: HELD }));
const isState = /* @__PURE__ */ reader<AwayState>(form({ entries: HELD, ended: ENDED }));

/** The out-of-office state that a run takes along. Undefined: it cannot be read. */
export function readAway(value: unknown): AwayState | undefined {
  if (value === undefined || value === null) return nobodyAway();
  return isState(value) ? value : undefined;
}
