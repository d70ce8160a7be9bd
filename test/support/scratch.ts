import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh directory for each test of the file that calls this; removed after the test. */
export const scratchDirectory = (): (() => string) => {
  let directory = '';
  beforeEach(() => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-test-')));
  });
  // What a test ended may still write its last file, also in this process, which goes on meanwhile.
  afterEach(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return () => directory;
};

/** Writes an executable shell script and returns its path. */
export const writeScript = (path: string, ...lines: string[]): string => {
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o755);
  return path;
};

/** A script that answers `--version` as Temporal's command line does. */
export const fakeTemporal = (path: string, version = '1.8.2'): string =>
  writeScript(path, `echo "temporal version ${version} (Server 1.31.2, UI 2.50.1)"`);
