import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { askRules } from '../../src/authority/rules/worker-verdict';
import { judgeGrant } from '../../src/authority/grants/worker-claim';
import { prepareCall } from '../../src/activities/prepare-call';
import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { parsePolicy } from '../../src/authority/rules/policy-file';
import type { GrantShown } from '../../src/authority/grants/grant';
import type { JsonObject } from '../../src/contract/json';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool, inPlace } from '../../src/tools/define-tool';
import { createHttpTools } from '../../src/tools/http';
import { fitArguments } from '../../src/tools/prepare';
import type { Policy, Tool } from '../../src/tools/types';
import { createWorkspaceTools } from '../../src/tools/workspace';

let root: string;
let tools: Tool[];
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'spelled-'));
  await mkdir(join(root, 'prod'));
  tools = [...createWorkspaceTools({ root }), ...createHttpTools({})];
});
afterAll(() => rm(root, { recursive: true, force: true }));

const PATHS = [
  ...['prod/x', './prod/x', './/prod/x', '././prod/x', 'prod//x', 'prod///x', 'prod/./x', 'prod/././x'],
  ...['.///prod/./x', './prod//x', 'prod/.//x', './/./prod/.//./x', 'prod/x/', 'prod/x//', 'prod/x/.'],
  ...['./prod/x/./', 'prod/../prod/x', './prod/../prod/x', 'a/../prod/x', '/prod/x', '//prod/x', '../prod/x'],
  ...['prod/..//prod/x', '.prod/../prod/x', 'prod/sub/../x', 'prod/\0x', 'prod/\ud800', './././././prod/x'],
  ...['./prod/./sub/./x', 'prod/sub//x', './/prod//sub//x', 'prod/sub/./x/', './prod/x.', 'prod/ x'],
];

const HOST = 'prod.example.com';
const URLS = [
  ...[`https://${HOST}/`, `https://${HOST}`, `HTTPS://${HOST}/`, 'https://PROD.example.com/'],
  ...['https://Prod.Example.Com/', `https://${HOST}:443/`, `https://${HOST}:0443/`, `https://${HOST}:/`],
  ...['https://prod%2eexample.com/', 'https://prod%2Eexample%2ecom/', 'https://%70rod.example.com/'],
  ...['https://%50ROD.example.com/', 'https://prod。example.com/', 'https://prod．example.com/'],
  ...['https://ｐｒｏｄ.example.com/', 'https://PROD.EXAMPLE.COM:443/a', `https://${HOST}/a/../b`],
  ...[`https://${HOST}/./a`, `https://${HOST}/%2e/a`, `https://${HOST}/a/%2E%2e/b`, `https://${HOST}?q=1`],
  ...[`https://${HOST}./`, `https://${HOST}.:443/`, `https://user@${HOST}/`, `https://user:pw@${HOST}/`],
  ...[`https://@${HOST}/`, `https://:@${HOST}/`, `https:\\\\${HOST}\\`, `https:/${HOST}/`, `https:${HOST}/`],
  ...[
    `https:///${HOST}/`,
    `https:////${HOST}/`,
    ` https://${HOST}/`,
    `https://${HOST}/ `,
    `\thttps://${HOST}/`,
  ],
  ...[
    `ht\ttps://${HOST}/`,
    'https://pr\tod.example.com/',
    'https://pr\nod.example.com/',
    `https://${HOST}/#x`,
  ],
  ...['https://pr\u00adod.example.com/', 'https://pr\u200bod.example.com/', 'https://prod%00.example.com/'],
  ...[`https://${HOST}/?`, `https://${HOST}/a?`, `hTTps://pROD.eXample.com:443/?q=%41`, `//${HOST}/`],
  ...['https://pro%64.example.com:443/', `https://${HOST}%2f/`, `https://${HOST}\\@evil.example/`],
  ...[`https://evil.example@${HOST}/`, 'https://prod.example.com%3a443/', 'https://prod.example%2ecom:443/'],
  ...['https://PROD%2EEXAMPLE%2ECOM/', `https://${HOST}/%70`, `https://${HOST}//a`, `https://${HOST}/;a`],
];

const RULES = (then: string, approvers: string): string => `
rules:
  - { name: files, tools: [write_file, read_file], when: 'args.path.startsWith("prod/")', ${then}${approvers} }
  - { name: urls, tools: [http_request], when: 'args.url.startsWith("https://prod.example.com/")', ${then}${approvers} }
`;
const file = parseApprovers(
  `installation: '${'ab'.repeat(16)}'\npeople: { anna: {}, bob: {} }${RULES('then: ask', ', approvers: { any: [anna, bob], need: 2 }')}  - { name: default, then: by_safety }\n`,
  'approvers.yaml',
);
const approvers = { current: () => Promise.resolve(file) };
const rules = parsePolicy(RULES('then: refuse', ''), 'policy.yaml');
const policy: Policy = ({ arguments: { path = '', url = '' } }) =>
  String(path).startsWith('prod/') || String(url).startsWith(`https://${HOST}/`) ? 'refuse' : 'run';

const prepared = (tool: string, args: JsonObject, by: object, own?: Policy) =>
  prepareCall(
    defineAgent({
      ...{ name: 'a', instructions: 'x', model: scriptedModel([]), tools },
      ...(own === undefined ? {} : { policy: own }),
    }),
    { callId: '1.1', id: 'm', tool, raw: JSON.stringify(args) },
    { taskQueue: 'q', run: {}, ...by },
  );

describe.each([
  ['path', 'write_file', PATHS],
  ['URL', 'http_request', URLS],
] as const)('a %s in another spelling', (kind, tool, spellings) => {
  const argsOf = (text: string): JsonObject =>
    kind === 'URL' ? { url: text } : { path: text, content: 'x' };

  it.each(spellings.map((text) => [text]))('%j does not leave its rule', async (text) => {
    const call = await prepared(tool, argsOf(text), { approvers });
    // What is refused needs no rule.
    if (call.kind === 'invalid') return expect(call.result.error?.code).not.toBe('refused');
    expect(call).toMatchObject({ kind: 'ask', authority: { rule: { need: 2 } } });
    for (const one of [
      await prepared(tool, argsOf(text), { rules }),
      await prepared(tool, argsOf(text), {}, policy),
    ])
      expect(one).toMatchObject({ kind: 'invalid', result: { error: { code: 'refused' } } });
  });

  it('is shown to people as the handler gets it', async () => {
    const shown = kind === 'URL' ? `https://${HOST}/a` : 'prod/x';
    const call = await prepared(
      tool,
      argsOf(kind === 'URL' ? 'HTTPS://PROD.example.com:443/a' : './/prod/x'),
      {},
    );
    expect(call).toMatchObject({ arguments: kind === 'URL' ? { url: shown } : { path: shown } });
  });
});

it('writes the names of headers in one way', async () => {
  const call = await prepared('http_request', { url: 'https://a.example', headers: { Accept: 'x' } }, {});
  expect(call).toMatchObject({ arguments: { url: 'https://a.example/', headers: { accept: 'x' } } });
});

const deploy = defineTool({
  ...{ name: 'deploy', description: 'd', safety: 'dangerous', handler: () => '' },
  parameters: z.object({
    env: z.string().trim().toLowerCase(),
    size: z.coerce.number().default(1),
    at: z
      .string()
      .default('2026-01-01')
      .transform((text) => new Date(text)),
  }),
});
const PARSED = parseApprovers(
  `
installation: '${'ab'.repeat(16)}'
people: { anna: {}, bob: {}, cleo: {} }
rules:
  - { name: never, when: 'args.env == "never"', then: refuse }
  - { name: prod, when: 'args.env == "prod"', then: ask, approvers: { any: [anna, bob], need: 2 } }
  - { name: spelled, when: 'args.env.startsWith(" ")', then: ask, approvers: { any: [bob, cleo] }, assurance: signed }
  - { name: default, then: by_safety }
`,
  'approvers.yaml',
);
const verdictOn = (env: string, by: object = { approvers: { current: () => Promise.resolve(PARSED) } }) => {
  const fitted = fitArguments(deploy, { env });
  if (!fitted.ok) throw new Error('it does not fit');
  return askRules({ agent: 'a', ...by }, { ...fitted, requesters: [] });
};

describe('a value that the parser changes', () => {
  it.each(['prod', 'PROD', 'Prod ', 'prod\n'])(
    '%j stays under the rule of what the handler gets',
    async (env) => {
      expect((await verdictOn(env)).authority?.rule).toMatchObject({ need: 2 });
    },
  );

  it('is under the rules of both', async () => {
    const { authority } = await verdictOn(' PROD');
    expect(authority?.rule).toMatchObject({
      ...{ name: 'spelled, prod', need: 2, assurance: 'signed' },
      rosters: [
        ['bob', 'cleo'],
        ['anna', 'bob'],
      ],
    });
    expect(authority?.ruleDigest).not.toBe((await verdictOn('prod')).authority?.ruleDigest);
  });

  it('is refused if either is', async () => {
    expect((await verdictOn(' NEVER')).decision).toBe('refuse');
  });

  it('lets a call run only if a rule of the policy lets both run', async () => {
    const until = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const of = (when: string) => ({
      rules: parsePolicy(
        `rules: [{ name: a, tools: [deploy], when: '${when}', then: run, until: '${until}' }]`,
        'p',
      ),
    });
    expect((await verdictOn(' PROD', of('args.env == " PROD"'))).decision).toBe('ask');
    expect((await verdictOn('prod', of('args.env == "prod"'))).decision).toBe('run');
  });

  it('is judged by the function, too', async () => {
    const policyOf: Policy = ({ arguments: { env } }) => (env === 'prod' ? 'refuse' : 'run');
    expect((await verdictOn(' PROD', { policy: policyOf })).decision).toBe('refuse');
  });

  it('has to fit a grant', async () => {
    const args = { env: 'PROD/x' };
    const grant = (narrowing: GrantShown['narrowing']) => ({
      ...{ id: 'g', agent: 'a', tool: 'deploy', toolDigest: deploy.digest, ruleDigest: '', policyDigest: '' },
      ...{
        narrowing,
        times: 3,
        at: new Date(0).toISOString(),
        until: '2999-01-01T00:00:00.000Z',
        by: 'anna',
        takenAt: new Date(0).toISOString(),
      },
    });
    const judged = (narrowing: GrantShown['narrowing']) =>
      judgeGrant(
        grant(narrowing),
        { agent: 'a', tool: deploy, args, value: { env: 'prod/x' }, policyDigest: undefined },
        { namespace: 'n', now: Date.now() },
      );
    await expect(judged({ env: { is: 'prefix', prefix: 'PROD/' } })).resolves.toHaveProperty('why');
    await expect(judged({ env: { is: 'equal', value: 'PROD/x' } })).resolves.toHaveProperty('assurance');
  });
});

describe('on a file system that takes upper and lower case for the same', () => {
  const save = inPlace(
    defineTool({
      ...{ name: 'save', description: 's', safety: 'dangerous', handler: () => '' },
      parameters: z.object({ path: z.string() }),
    }),
    {},
    { spell: (args) => args, foldsCase: async () => true },
  );
  const needOf = async (when: string, path: string) => {
    const text = `
installation: '${'ab'.repeat(16)}'
people: { anna: {}, bob: {} }
rules:
  - { name: prod, when: '${when}', then: ask, approvers: { any: [anna, bob], need: 2 } }
  - { name: default, then: by_safety }
`;
    const current = () => Promise.resolve(parseApprovers(text, 'approvers.yaml'));
    const call = { tool: save, args: { path }, value: { path }, requesters: [] };
    return (await askRules({ agent: 'A', approvers: { current } }, call)).authority?.rule.need;
  };

  it.each([
    ['args.path.startsWith("prod/")', 'PROD/x', 2],
    ['args.path.startsWith("Prod/")', 'pRoD/x', 2],
    ['args.path in ["Prod/x"]', 'PROD/X', 2],
    ['"PROD" == args.path', 'prod', 2],
    ['args.path.matches("^PROD/")', 'prod/x', 2],
    ['args.path.startsWith("prod/") && agent == "A"', 'PROD/x', 2],
    ['args.path.startsWith("prod/")', 'test/x', 1],
  ])('%s judges %s', async (when, path, need) => {
    expect(await needOf(when, path)).toBe(need);
  });
});
