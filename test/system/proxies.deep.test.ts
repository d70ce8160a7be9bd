import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { text } from 'node:stream/consumers';
import { outgoingAgent, outgoingFetch } from '../../src/system/proxies';
import { makeCertificates, SERVER_NAME } from '../cluster/support/certificates';
import { type HttpProxy, ownProxyVariables, startHttpProxy } from '../support/http-proxy';
import { useServer } from '../tools/http/servers';

const directory = mkdtempSync(join(tmpdir(), 'countersign-certificates-'));
afterAll(() => rmSync(directory, { recursive: true }));

let ca: Buffer;
const server = useServer(
  (_, response) => void response.end('over TLS'),
  () => {
    const made = makeCertificates(directory);
    ca = readFileSync(made.ca);
    return { key: readFileSync(made.key, 'utf8'), cert: readFileSync(made.cert, 'utf8') };
  },
);

ownProxyVariables();
let proxy: HttpProxy;
beforeEach(async () => {
  proxy = await startHttpProxy({ port: server.port });
  process.env['https_proxy'] = proxy.url.replace('//', '//ann:s3cret@');
});
afterEach(() => {
  proxy.close();
  jest.restoreAllMocks();
});

/** Node reads the certificates that it trusts when it starts, so the test hands in its own. */
const trustOurs = (): void => {
  const { connect } = tls;
  jest.spyOn(tls, 'connect').mockImplementation((options: unknown) => connect({ ...Object(options), ca }));
};

const url = new URL(`https://${SERVER_NAME}/`);
const TUNNEL = [`CONNECT ${SERVER_NAME}:443`];
const SIGNED_IN = [`Basic ${Buffer.from('ann:s3cret').toString('base64')}`];

it('reaches https by a tunnel, and checks the certificate of the server within it', async () => {
  await expect(outgoingFetch(url)).rejects.toThrow('fetch failed');
  expect(server.heard).toEqual([]);
  trustOurs();
  expect(await (await outgoingFetch(url)).text()).toBe('over TLS');
  expect(proxy.asked).toEqual([...TUNNEL, ...TUNNEL]);
  expect(proxy.authorizations).toEqual([...SIGNED_IN, ...SIGNED_IN]);
});

it('gives clients without a fetch the same tunnel', async () => {
  trustOurs();
  const agent = outgoingAgent(url);
  const said = await new Promise((resolve, reject) => {
    get(url, { agent }, (response) => resolve(text(response))).on('error', reject);
  });
  expect(said).toBe('over TLS');
  expect([proxy.asked, proxy.authorizations]).toEqual([TUNNEL, SIGNED_IN]);
});
