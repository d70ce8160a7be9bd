import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { ensureBuilt, lib } from '../support/build';

const SCRIPT_LIMIT = 60 * 1024;

beforeAll(ensureBuilt, 120_000);

const read = (name: string): string => readFileSync(lib('web', name), 'utf8');

it('is three files', () => {
  expect(readdirSync(lib('web')).sort()).toEqual(['app.css', 'app.js', 'index.html']);
});

it('is light', () => {
  expect(gzipSync(read('app.js')).byteLength).toBeLessThanOrEqual(SCRIPT_LIMIT);
});

it('has nothing inline, so that the strictest policy holds', () => {
  const html = read('index.html');
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
});

it.each(['index.html', 'app.css', 'app.js'])('%s names no other host', (name) => {
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

it('never turns text into markup or code', () => {
  expect(read('app.js')).not.toMatch(
    /document\.write|\beval\(|new Function\(|insertAdjacentHTML|\.outerHTML\s*=/,
  );
});
