import { flattenDiagnosticMessageText } from 'typescript';
import tseslint from 'typescript-eslint';

const HOUSE = [
  'activities',
  'audit',
  'authority',
  'cli',
  'client',
  'contract',
  'encryption',
  'engine',
  'gateway',
  'history',
  'lifecycle',
  'models',
  'notify',
  'plugin',
  'server',
  'store',
  'system',
  'testing',
  'tools',
  'web',
  'worker',
  'workflows',
];
const WORKFLOW_ONLY = ['@temporalio/workflow', '@temporalio/workflow/*'];
const NATIVE = ['@temporalio/worker', '@temporalio/core-bridge', '@temporalio/testing'];
const NO_TEMPORAL = '^@temporalio/(?!common|activity)';
const PURE = ['@noble/hashes', 'canonicalize'];

/** Matches an import of a folder of ours, from whatever depth. */
const folder = (name) => `^(\\.\\./)+${name}(/|$)`;

/** Every package and builtin except those named. */
const packagesExcept = (names) =>
  `^(?!\\.)(?!(${names.map((name) => name.replaceAll('.', '\\.')).join('|')})(/|$))`;

/** The parts of authority, by the names of their files. All that is not named here is pure. */
const CLIENT_PART = '(grants|pauses)/client(-|$)';
const WORKER_PART = '(rules|votes|grants|pauses)/worker-';
const FILE_PART = '(rules/(?!worker-|permits$|stricter-rule$)|signatures/(?!passkey-ask$))';
const PURE_PART = `(?!${CLIENT_PART}|${WORKER_PART}|${FILE_PART})`;

const forbid = (regex, message, allowTypeImports = false) => ({ regex, message, allowTypeImports });

/** Another folder of ours, but for the parts of it that are allowed. Undefined: all of it is. */
const notAllowed = (name, folders) => {
  if (folders.includes(name)) return undefined;
  const parts = folders.filter((one) => one.startsWith(`${name}/`)).map((one) => one.slice(name.length + 1));
  return parts.length === 0 ? folder(name) : `^(\\.\\./)+${name}/(?!${parts.join('|')})`;
};

/** What one folder may not import: other folders of ours, and packages. */
const boundary = ({
  from,
  files = [`src/${from}/**/*.{ts,tsx}`],
  folders,
  packages,
  types = [],
  message,
}) => ({
  files,
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        patterns: [
          ...HOUSE.filter((name) => name !== from).flatMap((name) => {
            const regex = notAllowed(name, folders);
            return regex === undefined ? [] : [forbid(regex, message, types.includes(name))];
          }),
          ...packages,
        ],
      },
    ],
  },
});

const ALONE = 'contract imports nothing outside itself.';
const pureOnly = forbid(packagesExcept(PURE), 'contract uses pure libraries only.');

const boundaries = [
  boundary({ from: 'contract', folders: [], packages: [pureOnly], message: ALONE }),
  {
    // It has a file of this name itself, beside its folders.
    ...boundary({
      from: 'contract',
      folders: ['authority'],
      packages: [pureOnly, forbid('^(\\.\\./)+authority/|^(\\.\\./){2,}authority$', ALONE)],
      message: ALONE,
    }),
    files: ['src/contract/*/*.ts'],
  },
  boundary({
    from: 'lifecycle',
    folders: ['contract', `authority/${PURE_PART}`],
    packages: [forbid(packagesExcept([]), 'The life of a call needs no package.')],
    message: 'The life of a call knows contract, and the rules of votes.',
  }),
  boundary({
    from: 'workflows',
    folders: ['contract', 'lifecycle', `authority/${PURE_PART}`],
    types: ['activities'],
    packages: [
      forbid(
        packagesExcept(['@temporalio/workflow', '@temporalio/common', '@temporalio/activity', ...PURE]),
        "Workflows run in a sandbox: Temporal's workflow packages and pure libraries only.",
      ),
      forbid('^@temporalio/activity', 'Workflows import only types of activities.', true),
    ],
    message: 'Workflows import contract, lifecycle, what is pure of authority, and only types of activities.',
  }),
  boundary({
    from: 'client',
    folders: [
      'contract',
      'history',
      'encryption',
      'store',
      'system',
      `authority/${PURE_PART}`,
      `authority/${CLIENT_PART}`,
    ],
    // Names and definitions of workflows are types here: their code belongs to the sandbox.
    types: ['workflows'],
    packages: [
      forbid(
        `^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`,
        'The client runs without a native module.',
        true,
      ),
    ],
    message: "An approver's machine has no worker, tools or models.",
  }),
  boundary({
    from: 'server',
    folders: [
      'client',
      'contract',
      'history',
      'system',
      `authority/${PURE_PART}`,
      `authority/${CLIENT_PART}`,
    ],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'The web inbox runs without a native module.'),
    ],
    message: "The web inbox is an approver's: it knows what a client knows.",
  }),
  boundary({
    from: 'gateway',
    folders: ['authority', 'client', 'contract', 'history', 'server', 'system', 'tools'],
    packages: [forbid(`^(${NATIVE.join('|')})`, 'Clients are answered without a native module.')],
    message: 'The gateway runs safe calls as a worker does; the command gives it a worker for the others.',
  }),
  boundary({
    from: 'encryption',
    folders: ['contract', 'system'],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'Clients without a native module encrypt too.'),
    ],
    message: 'Encryption serves worker and client, and knows neither.',
  }),
  boundary({
    from: 'store',
    folders: ['contract', 'system'],
    // Whoever opens it has the keys.
    types: ['encryption'],
    packages: [forbid('^@temporalio', 'Files are kept without Temporal.')],
    message: 'Workers and clients keep files alike.',
  }),
  boundary({
    from: 'authority',
    folders: ['contract', 'system'],
    packages: [
      forbid('^@temporalio', 'Who may decide is worked out without Temporal.'),
      forbid(
        `^(\\./|\\.\\./)(.*/)?(worker-|client(-|$))`,
        'Rules and signatures know no worker and no client.',
      ),
    ],
    message: 'Workers, clients and the web inbox ask the same rules.',
  }),
  ...[
    { files: ['src/authority/{votes,grants,pauses}/*.ts'], beside: 'worker-|client(-|$)' },
    {
      files: ['src/authority/rules/{permits,stricter-rule}.ts', 'src/authority/signatures/passkey-ask.ts'],
      beside: '',
    },
  ].map(({ files, beside }) =>
    boundary({
      from: 'authority',
      files,
      folders: ['contract'],
      packages: [
        pureOnly,
        forbid(
          `^\\./(${beside})|^\\.\\./(${CLIENT_PART}|${WORKER_PART}|${FILE_PART})`,
          'Workflows and the page use this: it imports what is pure.',
        ),
      ],
      message: 'Workflows and the page use this: it imports contract, and what is pure of authority.',
    }),
  ),
  boundary({
    from: 'authority',
    files: ['src/authority/*/client{,-*}.ts'],
    folders: ['contract', 'history', 'client'],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'The client runs without a native module.'),
      forbid(
        `^\\./worker-|^\\.\\./(${WORKER_PART}|${FILE_PART})`,
        "An approver's machine has no worker and no approvers file.",
      ),
    ],
    message: "An approver's machine has no worker, tools or models.",
  }),
  ...['{votes,grants,pauses}', 'rules'].map((name) =>
    boundary({
      from: 'authority',
      files: [`src/authority/${name}/worker-*.ts`],
      folders: ['contract', 'history', 'tools', 'system/sha256$'],
      types: ['activities'],
      packages: [
        forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'Activities run outside the sandbox.'),
        forbid(
          `^\\.\\./${FILE_PART}${name === 'rules' ? '|^\\./(?!stricter-rule$)' : ''}`,
          'A worker loads this only where it has an approvers file.',
          true,
        ),
      ],
      message: 'A worker asks its own rules; activities use the answer.',
    }),
  ),
  boundary({
    from: 'history',
    folders: ['contract', 'lifecycle', 'system/sha256$', `authority/${PURE_PART}`],
    packages: [forbid('^@temporalio/workflow', 'History is read outside the sandbox.')],
    message: 'History imports contract, lifecycle, and what is pure of authority.',
  }),
  boundary({
    from: 'activities',
    folders: [
      'contract',
      'tools',
      'models',
      'history',
      'store',
      'system',
      `authority/${PURE_PART}`,
      `authority/${WORKER_PART}`,
    ],
    // Whoever makes a worker loads the file, and only where there is one.
    types: ['authority'],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'Activities run outside the sandbox.')],
    message: 'Only worker.ts knows both workflows and activities.',
  }),
  boundary({
    from: 'tools',
    folders: ['contract', 'system', `authority/${PURE_PART}`],
    // An agent is defined with its model, which it only passes on.
    types: ['models'],
    packages: [forbid(NO_TEMPORAL, 'Tools know nothing of workers and clients.')],
    message: 'Data goes one way: contract, workflows, activities, tools.',
  }),
  boundary({
    from: 'models',
    folders: ['contract', 'tools', 'system'],
    packages: [forbid(NO_TEMPORAL, 'Models know nothing of workers and clients.')],
    message: 'Models know contract and the definitions of tools.',
  }),
  boundary({
    from: 'engine',
    folders: ['contract', 'system'],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'The engine runs outside the sandbox.')],
    message: 'The engine finds or starts a server and knows nothing of turns.',
  }),
  boundary({
    from: 'web',
    folders: ['contract', 'history', `authority/${PURE_PART}`],
    // What the page and its server say to each other is types.
    types: ['server', 'client'],
    packages: [
      forbid(
        packagesExcept(['preact', 'diff', '@speed-highlight/core']),
        'The page loads preact, diff and, late, the syntax highlighter only.',
      ),
    ],
    message: 'The page runs in a browser: contract, history, and only types of server and client.',
  }),
  boundary({
    from: 'system',
    folders: ['contract'],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'Clients without a worker use it too.'),
    ],
    message: 'All rooms outside the sandbox use it, so it knows none.',
  }),
  boundary({
    from: 'notify',
    folders: [
      ...['client', 'contract', 'history', 'system'],
      `authority/(${FILE_PART}|${PURE_PART})`,
      'server/(api|signer|push/(store|subscription))$',
      'tools/http/',
    ],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'Messages are sent without a native module.'),
    ],
    message: "Messages to people know what a client knows, and the web inbox's links.",
  }),
  boundary({
    from: 'audit',
    folders: [...['contract', 'history', 'encryption', 'system'], `authority/(${FILE_PART}|${PURE_PART})`],
    packages: [forbid('^@temporalio', 'The record is checked without Temporal.')],
    message: 'The record is checked offline: history, signatures and keys.',
  }),
  boundary({
    from: 'worker',
    folders: [
      ...[
        'activities',
        'authority',
        'client',
        'contract',
        'encryption',
        'history',
        'models',
        'store',
        'system',
      ],
      ...['tools', 'server/probes$'],
    ],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'Workers bundle workflows by their path.')],
    message: 'Only worker.ts knows both workflows and activities.',
  }),
  boundary({
    from: 'plugin',
    folders: ['activities', 'authority', 'contract', 'encryption', 'engine', 'system', 'tools', 'worker'],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'Workers bundle workflows by their path.')],
    message: 'The plugin is a part of a worker.',
  }),
];

/**
 * What the compiler finds in a file. It has the program from which the other rules read types: a run of its own takes half as long
 * as all of lint. Of what is unused, lint has its own rule.
 */
const compiles = {
  create: ({ sourceCode, report }) => ({
    Program: (node) => {
      const { program, esTreeNodeToTSNodeMap } = sourceCode.parserServices;
      const file = esTreeNodeToTSNodeMap.get(node);
      const found = ['Syntactic', 'Semantic', 'Declaration'].flatMap((kind) =>
        program[`get${kind}Diagnostics`](file),
      );
      for (const { code, start, messageText, reportsUnnecessary } of found)
        if (!reportsUnnecessary)
          report({
            loc: sourceCode.getLocFromIndex(start),
            message: `TS${code}: {{ words }}`,
            data: { words: flattenDiagnosticMessageText(messageText, '\n') },
          });
    },
  }),
};

export default tseslint.config(
  {
    ignores: [
      'lib/**',
      '.lib-*/**',
      'node_modules/**',
      'coverage/**',
      '.countersign/**',
      'test/histories/**',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.base],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.test.json', './src/web/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { house: { rules: { compiles } } },
    rules: {
      'house/compiles': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'Use an `as const` object and a union.' },
        {
          selector:
            "VariableDeclarator[id.name=/^(until|deadline)$/] > BinaryExpression[left.callee.object.name='Date']",
          message: 'A clock can be set while this waits. Measure the wait with performance.now().',
        },
        {
          selector: "Property[key.name='numRuns']:not([value.callee.name='runs'])",
          message: 'Write runs(n) of test/support/properties.ts, so that COUNTERSIGN_RUNS counts here too.',
        },
      ],
      'no-console': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'prefer-const': 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/system/proxies.ts', 'src/web/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        {
          globals: [
            { name: 'fetch', message: 'outgoingFetch of src/system/proxies.ts goes through the proxies.' },
          ],
          checkGlobalObject: true,
        },
      ],
    },
  },
  // The one place that talks to a person line by line.
  { files: ['src/cli/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'], rules: { 'no-console': 'off' } },
  // A row of a table has as many parameters as columns.
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/max-params': 'off' } },
  // Node's own test runner waits for its tests itself.
  {
    files: ['templates/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', name: 'test', package: 'node:test' }] },
      ],
    },
  },
  {
    files: ['scripts/**/*.{mjs,cjs}', 'bin/*.js', '*.{js,mjs}'],
    rules: { eqeqeq: 'error', 'prefer-const': 'error', 'no-unused-vars': 'error' },
  },
  ...boundaries,
);
