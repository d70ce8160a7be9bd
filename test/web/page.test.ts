import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { ensureBuilt, lib } from '../support/build';

const SCRIPTS = ['app.js', 'syntax.js'];
const SCRIPT_LIMIT = 75 * 1024;

beforeAll(ensureBuilt, 120_000);

const read = (name: string): string => readFileSync(lib('web', name), 'utf8');

it('is a few files, and the server has each', () => {
  const named = [
    'app.css',
    'app.js',
    'icon.png',
    'icon.svg',
    'index.html',
    'manifest.webmanifest',
    'syntax.js',
  ];
  expect(readdirSync(lib('web')).sort()).toEqual(named);
});

it('is light: its script, with what is loaded late', () => {
  const sizes = SCRIPTS.map((name) => gzipSync(read(name)).byteLength);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(SCRIPT_LIMIT);
});

it('is as quick for who reads no diff: syntax is loaded late', () => {
  expect(read('app.js')).toMatch(/import\("\.\/syntax\.js"\)/);
  expect(read('app.js').match(/(?:^|[;}\n])(?:import[\s{*"]|export\s*\*)/g)).toBeNull();
});

it('has nothing inline, so that the strictest policy holds', () => {
  const html = read('index.html');
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
});

it.each(['index.html', 'app.css', 'manifest.webmanifest', ...SCRIPTS])('%s names no other host', (name) => {
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
});

it.each(SCRIPTS)('%s never turns text into markup or code', (name) => {
  expect(read(name)).not.toMatch(
    /document\.write|\beval\(|new Function\(|insertAdjacentHTML|\.outerHTML\s*=/,
  );
});
