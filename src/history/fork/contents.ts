import { digestText } from '../../contract/digest';
import type { ToolResult } from '../../contract/result';
import type { ResultRef } from '../../contract/think';
import type { TurnEvent } from '../events';
import { is } from '../fold/guards';

/** The texts of results. History holds each once: beside the call that gave it, or with the next step. */
export class Contents {
  private readonly byDigest = new Map<string, string>();
  private readonly byCall = new Map<string, ToolResult>();

  constructor(events: readonly TurnEvent[]) {
    for (const event of events) if (event.type === 'call_ended') this.byCall.set(event.callId, event.result);
  }

  /** Keeps the text of a call's output, if it is one. */
  keep(output: unknown): void {
    if (!is.callOutput(output) || !('result' in output)) return;
    const { content } = output.result;
    this.byDigest.set(output.contentDigest ?? digestText(content), content);
  }

  /** What the model read. A long text that the turn itself made is on record only as far as the fold can tell it. */
  of({ text, digest, callId }: ResultRef): string {
    return text ?? this.byDigest.get(digest) ?? this.byCall.get(callId)?.content ?? '';
  }

  /** The result of a call; undefined where it has none. */
  result(callId: string): ToolResult | undefined {
    return this.byCall.get(callId);
  }
}
