import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { until } from './until';

const Payment = z.object({ tag: z.string(), key: z.string() });

/** A bank on this machine. It books a payment as soon as the request has arrived, and never answers it. */
export interface Bank {
  url: string;
  /** Keys of the payments with a tag. */
  payments(tag: string): string[];
  /** Waits until a payment with a tag is booked. */
  booked(tag: string): Promise<unknown>;
}

/** A bank for one test file. */
export function useBank(): () => Bank {
  const booked: z.infer<typeof Payment>[] = [];
  const server = createServer((request) => {
    void text(request).then((body) => booked.push(Payment.parse(JSON.parse(body))));
  });
  let port = 0;
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const payments = (tag: string): string[] => booked.filter((one) => one.tag === tag).map(({ key }) => key);
  return () => ({
    url: `http://127.0.0.1:${port}/`,
    payments,
    booked: (tag) => until(`a payment of ${tag}`, async () => payments(tag).length > 0),
  });
}
