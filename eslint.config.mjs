import tseslint from 'typescript-eslint';

const HOUSE = [
  'activities',
  'authority',
  'cli',
  'client',
  'contract',
  'encryption',
  'engine',
  'history',
  'models',
  'server',
  'store',
  'testing',
  'tools',
  'web',
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

const forbid = (regex, message, allowTypeImports = false) => ({ regex, message, allowTypeImports });

/** What one folder may not import: other folders of ours, and packages. */
const boundary = ({ from, folders, packages, types = [], message }) => ({
  files: [`src/${from}/**/*.{ts,tsx}`],
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        patterns: [
          ...HOUSE.filter((name) => name !== from && !folders.includes(name)).map((name) =>
            forbid(folder(name), message, types.includes(name)),
          ),
          ...(folders.includes('worker') ? [] : [forbid('^(\\.\\./)+worker$', message)]),
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
    // It has a folder of this name itself, beside its other folders.
    ...boundary({
      from: 'contract',
      folders: ['authority'],
      packages: [pureOnly, forbid('^(\\.\\./){2,}authority(/|$)', ALONE)],
      message: ALONE,
    }),
    files: ['src/contract/*/*.ts'],
  },
  boundary({
    from: 'workflows',
    folders: ['contract'],
    types: ['activities'],
    packages: [
      forbid(
        packagesExcept(['@temporalio/workflow', '@temporalio/common', '@temporalio/activity', ...PURE]),
        "Workflows run in a sandbox: Temporal's workflow packages and pure libraries only.",
      ),
      forbid('^@temporalio/activity', 'Workflows import only types of activities.', true),
    ],
    message: 'Workflows import contract, and only types of activities.',
  }),
  boundary({
    from: 'client',
    folders: ['contract', 'history', 'encryption', 'store'],
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
    folders: ['client', 'contract', 'history'],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'The web inbox runs without a native module.'),
    ],
    message: "The web inbox is an approver's: it knows what a client knows.",
  }),
  boundary({
    from: 'encryption',
    folders: ['contract'],
    packages: [
      forbid(`^(${[...NATIVE, ...WORKFLOW_ONLY].join('|')})`, 'Clients without a native module encrypt too.'),
    ],
    message: 'Encryption serves worker and client, and knows neither.',
  }),
  boundary({
    from: 'store',
    folders: ['contract'],
    // Whoever opens it has the keys.
    types: ['encryption'],
    packages: [forbid('^@temporalio', 'Files are kept without Temporal.')],
    message: 'Workers and clients keep files alike.',
  }),
  boundary({
    from: 'authority',
    folders: ['contract'],
    packages: [forbid('^@temporalio', 'Who may decide is worked out without Temporal.')],
    message: 'Workers, clients and the web inbox ask the same rules.',
  }),
  boundary({
    from: 'history',
    folders: ['contract'],
    packages: [forbid('^@temporalio/workflow', 'History is read outside the sandbox.')],
    message: 'History imports contract only.',
  }),
  boundary({
    from: 'activities',
    folders: ['contract', 'tools', 'models', 'history', 'store'],
    // Whoever makes a worker loads the file, and only where there is one.
    types: ['authority'],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'Activities run outside the sandbox.')],
    message: 'Only worker.ts knows both workflows and activities.',
  }),
  boundary({
    from: 'tools',
    folders: ['contract'],
    // An agent is defined with its model, which it only passes on.
    types: ['models'],
    packages: [forbid(NO_TEMPORAL, 'Tools know nothing of workers and clients.')],
    message: 'Data goes one way: contract, workflows, activities, tools.',
  }),
  boundary({
    from: 'models',
    folders: ['contract', 'tools'],
    packages: [forbid(NO_TEMPORAL, 'Models know nothing of workers and clients.')],
    message: 'Models know contract and the definitions of tools.',
  }),
  boundary({
    from: 'engine',
    folders: ['contract'],
    packages: [forbid(`^(${WORKFLOW_ONLY.join('|')})`, 'The engine runs outside the sandbox.')],
    message: 'The engine finds or starts a server and knows nothing of turns.',
  }),
  boundary({
    from: 'web',
    folders: ['contract', 'history'],
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
];

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
    rules: {
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
