import { join } from 'node:path';
import { defineAgent, defineTool, nothingDone, openaiCompatible, type Policy } from 'countersign';
import { z } from 'zod';
import { euros, openShop } from './orders';
import { deskScript } from './script';

const { MODEL, MODEL_URL = 'https://api.openai.com/v1', REFUNDS = '.countersign/refunds' } = process.env;

/** Nobody at the desk may decide about more than this. */
const LIMIT_CENTS = 50_000;

const shop = openShop({ orders: join(__dirname, 'orders.json'), refunds: REFUNDS });

/** Safe: it only reads, so it runs without asking. */
const findOrder = defineTool({
  name: 'find_order',
  description: 'Looks an order up: customer, item, price, and what is left to pay back, in cents.',
  parameters: z.object({ order: z.string().describe('Number of the order') }),
  handler: async ({ order }) => {
    const found = await shop.find(order);
    return { ...found, left: await shop.leftOf(found) };
  },
});

/** Dangerous: it waits for a person. Unsafe: money must not move twice, so a lost attempt is never run again. */
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Pays money of an order back. Look the order up first.',
  parameters: z.object({ order: z.string(), cents: z.int().positive(), reason: z.string().min(1) }),
  safety: 'dangerous',
  effect: 'unsafe',
  requestExpires: '2 days',
  // The approver sees this beside the arguments.
  preview: async ({ order, cents, reason }) => {
    const found = await shop.find(order);
    const left = await shop.leftOf(found);
    const head = `${euros(cents)} of ${euros(left)} to ${found.customer}`;
    return `${head}\nfor ${found.item}\nbecause ${reason}`;
  },
  handler: async ({ order, cents, reason }, { idempotencyKey, signal }) => {
    // The last check before the effect: after its timeout the call must not pay.
    if (signal.aborted) throw nothingDone('it was stopped before the refund');
    await shop.refund({ order, cents, reason, key: idempotencyKey });
    return `refunded ${euros(cents)} of order ${order}`;
  },
  // The worker died in the middle: the store knows whether the refund under this key was made.
  verify: async ({ order }, { idempotencyKey }) => {
    const made = (await shop.refundsOf(order)).find(({ key }) => key === idempotencyKey);
    if (made === undefined) return { outcome: 'did_not' };
    return { outcome: 'happened', content: `refunded ${euros(made.cents)} of order ${order}` };
  },
});

/** The policy is asked before a person is, and again right before the handler, so no edit gets around it. */
const policy: Policy = ({ tool, arguments: { cents } }) =>
  tool === 'refund_order' && Number(cents) > LIMIT_CENTS
    ? { decision: 'refuse', reason: `refunds over ${euros(LIMIT_CENTS)} are made by accounting` }
    : 'run';

export default defineAgent({
  name: 'desk',
  instructions: `You help the customers of a shop for coffee things. Look an order up before you speak of it.
Never promise a refund before it was paid. If one is denied, say why and offer nothing else.`,
  model: MODEL
    ? openaiCompatible({ baseUrl: MODEL_URL, model: MODEL, apiKey: { env: 'OPENAI_API_KEY' } })
    : deskScript,
  tools: [findOrder, refundOrder],
  policy,
});
