import { cutOutput } from './cut-output';

/** What a handler has given so far, in bounded memory: the head, the newest part, and how much lay between. */
export interface PartialOutput {
  add(text: string): void;
  /** All of it within the limit, the cut marked. */
  text(): string;
}

/** Keeps partial output of which at most `limitBytes` will be shown. */
export function createPartialOutput(limitBytes: number): PartialOutput {
  let head = '';
  let tail = '';
  let leftOut = 0;
  return {
    add(text) {
      const room = Math.max(0, limitBytes - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      if (tail.length <= 2 * limitBytes) return;
      leftOut += Buffer.byteLength(tail.slice(0, -limitBytes));
      tail = tail.slice(-limitBytes);
    },
    text: () => cutOutput(head + tail, limitBytes, leftOut),
  };
}
