import { scriptedModel, type ModelRequest } from 'countersign';

const REQUEST = /^refund (\w+)(?: (\d+(?:\.\d\d)?))? because (.+)$/;

/** The parts of the person's request; null if it is not a refund request. */
function asked({ messages }: ModelRequest) {
  const [, order = '', amount, reason = ''] = REQUEST.exec(messages[0]?.content ?? '') ?? [];
  return order === '' ? null : { order, reason, cents: amount && Math.round(Number(amount) * 100) };
}

const lastResult = ({ messages }: ModelRequest): string =>
  messages.findLast(({ role }) => role === 'tool')?.content ?? '';

/**
 * Takes the place of a language model, so that the example runs without a key: it looks the order up, asks for the
 * refund, and says how it ended. It understands `refund <order> [<amount>] because <reason>`; without an amount it asks
 * for all that is left.
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
