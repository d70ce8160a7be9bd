import { join } from 'node:path';
import { testAddress } from '../support/server';
import { countersign, type Ended } from './support/cli';
import { startGuardedServer, type GuardedServer } from './support/guarded-server';
import { makeNamespace, serverBin } from './support/place';

let server: GuardedServer;
let namespace: string;

beforeAll(async () => {
  server = await startGuardedServer(serverBin());
  namespace = await makeNamespace(server.admin);
});
afterAll(() => server.stop());

const AGENTS = join('deploy', 'agents', 'countersign.config.ts');
const worker = (settings: Record<string, string>): Promise<Ended> =>
  countersign(['worker', AGENTS], settings);
const inbox = (settings: Record<string, string>): Promise<Ended> => countersign(['inbox'], settings);
const NO_SERVER = 5;

/** Settings of a client that would be let in, but for one thing. */
const spoilt = (
  spoil: (good: Record<string, string>) => Record<string, string | undefined>,
): Record<string, string> => {
  const good = { ...server.env(server.keys.make('temporal-system:admin')), TEMPORAL_NAMESPACE: namespace };
  const entries = Object.entries({ ...good, ...spoil(good) });
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
};

const cases: [string, () => Record<string, string>, RegExp][] = [
  [
    'nobody listens',
    () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }),
    /`npx countersign dev`, or set TEMPORAL_ADDRESS/i,
  ],
  [
    'there is no such host',
    () => ({ TEMPORAL_ADDRESS: 'no-such-host.invalid:7233' }),
    /no such host: check TEMPORAL_ADDRESS/i,
  ],
  ['TLS is off', () => ({ TEMPORAL_ADDRESS: server.address }), /it speaks TLS only: set TEMPORAL_TLS=true/i],
  [
    'TLS is on for a server without',
    () => ({ TEMPORAL_ADDRESS: testAddress(), TEMPORAL_TLS: 'true' }),
    /it speaks no TLS: unset TEMPORAL_TLS/i,
  ],
  [
    'the authority is unknown',
    () => spoilt(() => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: undefined })),
    /set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'the authority is another',
    () => spoilt(() => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: server.certificates.otherCa })),
    /set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'the name is another',
    () => spoilt(() => ({ TEMPORAL_TLS_SERVER_NAME: 'other.test' })),
    /for another name: set TEMPORAL_TLS_SERVER_NAME/,
  ],
];

describe.each([
  ['worker', worker],
  ['inbox', inbox],
])('countersign %s says what to do when', (_name, command) => {
  it.each(cases)('%s', async (_what, settings, told) => {
    const { code, err } = await command(settings());
    expect(err).toMatch(told);
    expect(err).toMatch(/no Temporal server answers at \S+/);
    expect(err).not.toMatch(/^\s+at /m);
    expect(code).toBe(NO_SERVER);
  });

  it('the certificate’s file is missing', async () => {
    const { code, err } = await command(
      spoilt(() => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca.pem' })),
    );
    expect(err).toMatch(/Temporal's settings cannot be read: .*\/nowhere\/ca\.pem/);
    expect(code).not.toBe(0);
  });

  it.each([
    ['not a key', () => 'nonsense'],
    ['of another namespace', () => server.keys.make('elsewhere:admin')],
  ])('the API key is %s', async (_what, key) => {
    const { code, err } = await command(spoilt(() => ({ TEMPORAL_API_KEY: key() })));
    expect(err).toMatch(/TEMPORAL_API_KEY/);
    expect(err).not.toMatch(/^\s+at /m);
    expect(err).not.toContain(key());
    expect(code).not.toBe(0);
  });
});

it('an approver with a key for one namespace and the right certificate is let in', async () => {
  const fresh = await makeNamespace(server.admin);
  const admin = server.env(server.keys.make(`${fresh}:admin`));
  const doctor = await countersign(['doctor', '--json'], { ...admin, TEMPORAL_NAMESPACE: fresh });
  const findings: { name: string; state: string; detail: string }[] = JSON.parse(doctor.out);
  expect(findings.find(({ name }) => name === 'server')).toMatchObject({ state: 'ok' });
});

it('a worker that may not register attributes ends, naming the command for each', async () => {
  const settings = { ...server.env(server.keys.make(`${namespace}:write`)), TEMPORAL_NAMESPACE: namespace };
  const { code, err } = await worker(settings);
  for (const [name, type] of [
    ['CountersignState', 'Keyword'],
    ['CountersignPending', 'Int'],
    ['CountersignTools', 'KeywordList'],
    ['CountersignDeadline', 'Datetime'],
    ['CountersignAgent', 'Keyword'],
  ])
    expect(err).toContain(
      `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`,
    );
  expect(err).toMatch(/\[not_ready\]/);
  expect(err).not.toMatch(/^\s+at /m);
  expect(code).not.toBe(0);
});

it('a worker for a namespace that is not there ends, naming the command', async () => {
  const { code, err } = await worker({ TEMPORAL_ADDRESS: testAddress(), TEMPORAL_NAMESPACE: 'nowhere' });
  expect(err).toContain('the server has no namespace nowhere');
  expect(err).toContain('temporal operator namespace create --namespace nowhere');
  expect(err).not.toMatch(/^\s+at /m);
  expect(code).not.toBe(0);
});

it('an inbox of a namespace that is not there is said to be none', async () => {
  const { code, err } = await inbox({ TEMPORAL_ADDRESS: testAddress(), TEMPORAL_NAMESPACE: 'nowhere' });
  expect(err).toContain("Namespace not found: 'nowhere'");
  expect(err).toMatch(/TEMPORAL_NAMESPACE\n\[not_ready\]/);
  expect(err).not.toMatch(/^\s+at /m);
  expect(code).not.toBe(0);
});
