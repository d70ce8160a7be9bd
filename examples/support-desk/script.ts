import { scriptedModel, type ModelRequest } from 'countersign';

const REQUEST = /^refund (\w+)(?: (\d+(?:\.\d\d)?))? because (.+)$/;

/** The person's words, taken apart; null where they are no such request. */
function asked({ messages }: ModelRequest) {
  const [, order = '', amount, reason = ''] = REQUEST.exec(messages[0]?.content ?? '') ?? [];
  return order === '' ? null : { order, reason, cents: amount && Math.round(Number(amount) * 100) };
}

const lastResult = ({ messages }: ModelRequest): string =>
  messages.findLast(({ role }) => role === 'tool')?.content ?? '';

/**
 * Stands in for a language model, so that the example runs without a key: looks the order up, asks for the refund, and
 * says what came of it. It understands `refund <order> [<amount>] because <reason>`; without an amount it is all that is left.
 */
export const deskScript = scriptedModel(
  [
    (request) => {
      const wanted = asked(request);
      if (wanted === null) return { text: 'I understand only: refund 1001 20.00 because one cup was broken' };
      return { toolCalls: [{ name: 'find_order', arguments: { order: wanted.order } }] };
    },
    (request) => {
      const wanted = asked(request);
      const [, left] = /"left": (\d+)/.exec(lastResult(request)) ?? [];
      if (wanted === null || left === undefined) return { text: lastResult(request) };
      const { order, reason, cents } = wanted;
      return {
        toolCalls: [{ name: 'refund_order', arguments: { order, cents: cents || Number(left), reason } }],
      };
    },
    (request) => ({ text: lastResult(request) }),
  ],
  { id: 'desk-script' },
);
