import { atLeast, findVersion } from '../../src/engine/version';

describe('findVersion', () => {
  it.each([
    ['temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)', '1.8.2'],
    ['temporal version 0.0.0-DEV (Server 1.31.2)', '0.0.0'],
    ['go version go1.26.8 linux/amd64', '1.26.8'],
    ['go version go1.26 darwin/arm64', '1.26'],
    ['go version go1.27rc1 linux/amd64', '1.27'],
    ['no numbers here', undefined],
    ['', undefined],
  ])('%j has %s', (text, version) => {
    expect(findVersion(text)).toBe(version);
  });
});

describe('atLeast', () => {
  it.each([
    ['1.26.4', '1.26.4', true],
    ['1.26.8', '1.26.4', true],
    ['1.27', '1.26.4', true],
    ['1.26', '1.26.4', false],
    ['1.26.3', '1.26.4', false],
    ['1.9.9', '1.26.4', false],
    ['2.0.0', '1.26.4', true],
    ['0.30.9', '1.26.4', false],
    ['1.10.0', '1.4.0', true],
  ])('%s against %s: %s', (version, oldest, expected) => {
    expect(atLeast(version, oldest)).toBe(expected);
  });
});
