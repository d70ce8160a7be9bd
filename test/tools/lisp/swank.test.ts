import { createServer, type AddressInfo, type Socket } from 'node:net';
import { isToolError, isTransportError } from '../../../src/tools/errors';
import { lispSymbol } from '../../../src/tools/lisp/sexp';
import { connectSwank, type Swank } from '../../../src/tools/lisp/swank';

/** The other end of one connection: what it got, and what it may send. */
interface Peer {
  port: number;
  socket: Promise<Socket>;
  got(count: number): Promise<string[]>;
  stop(): void;
}

const peers: Peer[] = [];
afterEach(() => {
  for (const peer of peers.splice(0)) peer.stop();
});

/** Listens and reads frames, as an image would. */
async function listen(): Promise<Peer> {
  const messages: string[] = [];
  let woken = (): void => undefined;
  let opened: (socket: Socket) => void = () => undefined;
  const socket = new Promise<Socket>((resolve) => (opened = resolve));
  let held = Buffer.alloc(0);
  const server = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      for (;;) {
        const length = Number.parseInt(held.toString('latin1', 0, 6), 16);
        if (held.length < 6 || held.length < 6 + length) return woken();
        messages.push(held.toString('utf8', 6, 6 + length));
        held = held.subarray(6 + length);
      }
    });
    opened(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const peer: Peer = {
    port,
    socket,
    got: async (count) => {
      while (messages.length < count) await new Promise<void>((resolve) => (woken = resolve));
      return messages;
    },
    stop: () => {
      void socket.then((connection) => connection.destroy());
      server.close();
    },
  };
  peers.push(peer);
  return peer;
}

const frame = (text: string): string => Buffer.byteLength(text).toString(16).padStart(6, '0') + text;

async function pair(): Promise<{ peer: Peer; swank: Swank; say(...texts: string[]): Promise<void> }> {
  const peer = await listen();
  const swank = await connectSwank({ host: '127.0.0.1', port: peer.port, secret: 'word' });
  const say = async (...texts: string[]): Promise<void> => {
    (await peer.socket).write(texts.join(''));
  };
  return { peer, swank, say };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => error,
  );

it('gives the secret first, and takes answers in any order and in any pieces', async () => {
  const { peer, swank, say } = await pair();
  const first = swank.request([lispSymbol('cl:list'), 'ä "quoted" \\']);
  const second = swank.request([lispSymbol('cl:list'), 2]);
  expect(await peer.got(3)).toEqual([
    'word',
    '(:emacs-rex (cl:list "ä \\"quoted\\" \\\\") "COMMON-LISP-USER" t 1)',
    '(:emacs-rex (cl:list 2) "COMMON-LISP-USER" t 2)',
  ]);
  const answers =
    frame('(:return (:ok "zwei") 2)') + frame('(:new-features ("a"))') + frame('(:return (:ok ("ä")) 1)');
  for (const byte of Buffer.from(answers)) (await peer.socket).write(Buffer.from([byte]));
  expect(await Promise.all([first, second])).toEqual([['ä'], 'zwei']);
  await say(frame('(:return (:ok 1) 1)'), frame('(:return (:ok 1) 99)'), frame('(:write-string "noise")'));
  const third = swank.request(3);
  await say(frame('(:return (:ok 3) 3)'));
  expect(await third).toBe(3);
});

it('answers a ping, and lets no thread wait in the debugger', async () => {
  const { peer, say } = await pair();
  await say(frame('(:ping 4 17)'), frame('(:debug 9 1 ("boom" "" nil) nil nil (3))'));
  expect((await peer.got(3)).slice(1)).toEqual([
    '(:emacs-pong 4 17)',
    '(:emacs-rex (swank:throw-to-toplevel) "COMMON-LISP-USER" 9 1)',
  ]);
});

it('rejects a request that Lisp gave up', async () => {
  const { swank, say } = await pair();
  const failure = failureOf(swank.request(1));
  await say(frame('(:return (:abort "no such thing") 1)'));
  const error = await failure;
  expect(isToolError(error)).toBe(true);
  expect(error).toMatchObject({ message: 'Lisp gave the request up: no such thing' });
});

it.each([
  ['rubbish', 'HTTP/1.1 400 Bad Request\r\n', 'not a message of Swank'],
  ['a message of 16 MB', 'ffffff', 'may have 4194304'],
  ['what is not data', frame('(:return #<X> 1)'), 'cannot be read'],
  ['what is not a list', frame('1'), 'not a list'],
  ['a negative length', '-00001', 'not a message of Swank'],
])('ends the connection for %s', async (_case, bytes, why) => {
  const { swank, say } = await pair();
  const failure = failureOf(swank.request(1));
  await say(bytes);
  const error = await failure;
  expect(isTransportError(error) && !error.nothingSent).toBe(true);
  expect(error).toMatchObject({ message: expect.stringContaining(why) });
  expect(swank.ended()).toContain(why);
});

it('says after the end that nothing was sent', async () => {
  const { peer, swank } = await pair();
  const failure = failureOf(swank.request(1));
  (await peer.socket).destroy();
  expect(await failure).toMatchObject({ nothingSent: false });
  expect(await failureOf(swank.request(2))).toMatchObject({ nothingSent: true });
});

it('says where nobody listens that nothing was sent', async () => {
  const peer = await listen();
  peer.stop();
  await new Promise(setImmediate);
  expect(await failureOf(connectSwank({ host: '127.0.0.1', port: 1 }))).toMatchObject({
    nothingSent: true,
    message: expect.stringContaining('Swank at 127.0.0.1:1 cannot be reached'),
  });
});
