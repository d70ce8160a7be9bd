import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { ensureBuilt, lib } from '../support/build';

/** What every page loads, and the screens that it loads when they are opened. */
const FIRST = ['app.js', 'syntax.js'];
const LATE = [
  'account.js',
  'asks.js',
  'bulk.js',
  'chips.js',
  'composer.js',
  'conversation.js',
  'conversations.js',
  'decided.js',
  'doubt.js',
  'grant.js',
  'grants.js',
  'moment.js',
  'passkeys.js',
  'picture.js',
  'push.js',
  'question.js',
  'scrubber.js',
  'stats.js',
  'today.js',
  'turn.js',
  'turns.js',
  'two-paths.js',
  'votes.js',
];
const SCRIPTS = [...FIRST, ...LATE];
const SCRIPT_LIMIT = 75 * 1024;
const LATE_LIMIT = 5 * 1024;
/** A whole screen, where most parts are panels. Two have the fold of a turn's events, for which nobody else should wait. */
const SCREEN_LIMIT = 9 * 1024;
const SCREENS = ['conversation.js', 'turn.js'];

beforeAll(ensureBuilt);

const read = (name: string): string => readFileSync(lib('web', name), 'utf8');

it('is a few files, and the server has each', () => {
  const named = [
    'account.js',
    'app.css',
    'app.js',
    'asks.js',
    'bulk.js',
    'chips.js',
    'composer.js',
    'conversation.js',
    'conversations.js',
    'decided.js',
    'doubt.js',
    'grant.js',
    'grants.js',
    'icon.png',
    'icon.svg',
    'index.html',
    'manifest.webmanifest',
    'moment.js',
    'passkeys.js',
    'picture.js',
    'push-worker.js',
    'push.js',
    'question.js',
    'scrubber.js',
    'stats.js',
    'syntax.js',
    'today.js',
    'turn.js',
    'turns.js',
    'two-paths.js',
    'votes.js',
  ];
  expect(readdirSync(lib('web')).sort()).toEqual(named);
});

const sizeOf = (name: string): number => gzipSync(read(name)).byteLength;

it('is light: all of its script that is loaded before a person opens more', () => {
  expect(FIRST.map(sizeOf).reduce((sum, size) => sum + size)).toBeLessThanOrEqual(SCRIPT_LIMIT);
});

it.each(LATE)('%s is loaded when it is opened, and holds nothing twice', (name) => {
  expect(sizeOf(name)).toBeLessThanOrEqual(SCREENS.includes(name) ? SCREEN_LIMIT : LATE_LIMIT);
  expect(SCRIPTS.filter((one) => read(one).includes(`import("./${name}")`))).toHaveLength(1);
  const imports = [...read(name).matchAll(/import\{([^}]*)\}from"([^"]*)"/g)];
  expect(new Set(imports.map(([, , from]) => from))).toEqual(new Set(['./app.js']));
  const taken = imports.flatMap(([, names = '']) => names.split(',').map((one) => one.split(' as ')[0]));
  const [, exported = ''] = /export\{([^}]*)\}/.exec(read('app.js')) ?? [];
  const given = exported.split(',').map((one) => one.split(' as ').at(-1));
  expect(taken.filter((one) => !given.includes(one))).toEqual([]);
});

it('has a service worker for notifications alone: it imports nothing, and answers no request of the page', () => {
  const worker = read('push-worker.js');
  expect(sizeOf('push-worker.js')).toBeLessThanOrEqual(LATE_LIMIT);
  expect(worker).not.toMatch(/\b(import|export)\b|addEventListener\("fetch"|\bcaches\b/);
  expect(read('push.js')).toContain('"push-worker.js"');
});

it('is as quick for who reads no diff: syntax is loaded late', () => {
  expect(read('app.js')).toMatch(/import\("\.\/syntax\.js"\)/);
  expect(read('app.js').match(/(?:^|[;}\n])(?:import[\s{*"]|export\s*\*)/g)).toBeNull();
});

it('has nothing inline, so that the strictest policy holds', () => {
  const html = read('index.html');
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
});

it.each(['index.html', 'app.css', 'manifest.webmanifest', 'push-worker.js', ...SCRIPTS])(
  '%s names no other host',
  (name) => {
    const hosts = [...read(name).matchAll(/https?:\/\/[^/"'\s)`]+/g)].map(([host]) => host);
    // Names of vocabularies and of a schema without an id: nothing is fetched from there.
    const names = [
      'http://www.w3.org',
      'http://json-schema.org',
      'https://json-schema.org',
      'https://github.com',
    ];
    // The name of a host in an argument is only parsed.
    const isParsed = (host: string): boolean => host.startsWith('http://${');
    expect(hosts.filter((host) => !names.includes(host) && !isParsed(host))).toEqual([]);
  },
);

it.each(SCRIPTS)('%s never turns text into markup or code', (name) => {
  expect(read(name)).not.toMatch(
    /document\.write|\beval\(|new Function\(|insertAdjacentHTML|\.outerHTML\s*=/,
  );
});
