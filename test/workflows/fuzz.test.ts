import { RawValue } from '@temporalio/common';
import fc from 'fast-check';
import { readCallOutput, readResult, readVerifyOutput } from '../../src/contract/call-payloads';
import { isTurnInput, readPrepareOutput, readThinkOutput } from '../../src/contract/payloads';
import { whyUnreadable } from '../../src/contract/unreadable';
import { payloadConverter } from '../../src/encryption/bundle-converters';
import {
  parseAbandonment,
  parseAnswer,
  parseDecision,
  parseOutcome,
  parseResolution,
} from '../../src/lifecycle/messages';
import { judgeMessage } from '../../src/workflows/session/queue';
import { judgeControl, makeSession } from '../../src/workflows/session/state';
import * as messages from '../../src/workflows/messages';
import { readWords, SESSION_BOUNDS } from '../../src/workflows/session/words';
import { anyPayload, anyValue } from '../support/outsider';
import { runs } from '../support/properties';

const RUNS = { numRuns: runs(3000) };

const BOUNDS = [messages.BOUNDS, SESSION_BOUNDS].flatMap((all) => Object.values(all));

test('any payload is read or refused, by every door, and weighed before', () => {
  fc.assert(
    fc.property(fc.option(anyPayload, { nil: undefined }), (drawn) => {
      const message = drawn && RawValue.fromPayload(drawn);
      expect(messages.weightOf(message)).toBeGreaterThan(0);
      for (const bounds of BOUNDS) {
        const read = messages.readMessage(message, bounds);
        expect(read.ok || read.message.length < 1000).toBe(true);
      }
      expect(Number.isSafeInteger(messages.firstAsked(message))).toBe(true);
      messages.decodedValueOf(message);
      readWords(message);
    }),
    RUNS,
  );
});

test('any payload is converted in the sandbox, or noted as unreadable', () => {
  fc.assert(
    fc.property(anyPayload, (drawn) => {
      const converted = payloadConverter.fromPayload(drawn);
      const unreadable = whyUnreadable(converted);
      if (unreadable !== undefined) expect(converted).toEqual({});
    }),
    RUNS,
  );
});

test('any value is understood or refused in words', () => {
  fc.assert(
    fc.property(anyValue, (drawn) => {
      for (const parse of [parseDecision, parseResolution, parseOutcome, parseAnswer]) {
        const parsed = parse(drawn);
        expect(parsed.ok || parsed.message.length > 0).toBe(true);
      }
      expect(parseAbandonment(drawn)).toEqual(expect.any(Object));
      const judged = judgeMessage(makeSession({ agent: 'talker' }), drawn);
      expect(judged.kind !== 'refuse' || judged.refused.message.length > 0).toBe(true);
      judgeControl(makeSession({ agent: 'a' }), drawn);
    }),
    RUNS,
  );
});

test('any value is a result of that call, or is not', () => {
  fc.assert(
    fc.property(anyValue, (drawn) => {
      readThinkOutput(drawn);
      readPrepareOutput(drawn, { callId: '1.1', tool: 'pay' });
      readPrepareOutput(drawn, { callId: '1.1', tool: 'raise_budget' });
      readVerifyOutput(drawn, '1.1');
      const output = readCallOutput(drawn, { callId: '1.1', secret: undefined });
      if (output !== undefined && 'result' in output) expect(output.result.callId).toBe('1.1');
      const result = readResult(drawn, '1.1');
      if (result !== undefined) expect(result.callId).toBe('1.1');
      expect([true, false]).toContain(isTurnInput(drawn));
    }),
    RUNS,
  );
});
