import { randomInt } from 'node:crypto';
import { CountersignError } from '../contract/errors';

/** No `/`: `<turn>/<call>` names a call. No quotes: ids stand in visibility queries. */
const TURN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Draws an id: by time first, so that newer turns sort after older ones. */
export function drawTurnId(now = Date.now()): string {
  return `turn-${now.toString(36).padStart(9, '0')}${randomInt(36 ** 4)
    .toString(36)
    .padStart(4, '0')}`;
}

/** Whether text can be a turn's id, or the beginning of one. */
export function isTurnId(text: string): boolean {
  return TURN_ID.test(text);
}

/** @throws CountersignError `usage` for what cannot be an id. */
export function checkTurnId(id: string): string {
  if (isTurnId(id)) return id;
  const hint = 'use letters, digits, ".", "_" and "-", at most 200, with a letter or digit first';
  throw new CountersignError('usage', `${JSON.stringify(id)} cannot be the id of a turn`, { hint });
}
