/** The Chromium that an npm package brings, unpacked once into the checkout. */
const { execFileSync } = require('node:child_process');
const {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { join } = require('node:path');
const { chromiumOfSystem, packagedChromium } = require('./parts.cjs');

const MODULES = join(__dirname, '..', 'node_modules');

/** The package was made for AWS Lambda: only there it unpacks the libraries that a small system lacks. */
const AS_ON_LAMBDA = { AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' };
const UNPACK = "import('@sparticuz/chromium').then((chromium) => chromium.default.executablePath())";

const folder = () => {
  const manifest = join(packagedChromium(), '..', 'package.json');
  return join(MODULES, '.cache', 'countersign', `chromium-${JSON.parse(readFileSync(manifest)).version}`);
};

/** Unpacks it where there is no Chromium of the system and it was not done before: it takes seconds. */
const unpackChromium = (env = process.env) => {
  if (chromiumOfSystem(env) !== undefined || packagedChromium() === undefined || existsSync(folder())) return;
  mkdirSync(join(folder(), '..'), { recursive: true });
  const staging = mkdtempSync(`${folder()}-`);
  execFileSync(process.execPath, ['-e', UNPACK], {
    cwd: join(MODULES, '..'),
    env: { ...env, ...AS_ON_LAMBDA, TMPDIR: staging },
  });
  // It looks for its fonts where a Lambda has them. Without one, a text has no size.
  const fonts = join(staging, 'fonts', 'fonts.conf');
  writeFileSync(fonts, readFileSync(fonts, 'utf8').replaceAll('/tmp/', `${join(folder(), 'fonts')}/`));
  try {
    renameSync(staging, folder());
  } catch (error) {
    // Another run was quicker.
    rmSync(staging, { recursive: true, force: true });
    if (!existsSync(folder())) throw error;
  }
};

/** The program to start, and the environment that it needs; `undefined` where there is none. */
const findChromium = (env = process.env) => {
  const program = chromiumOfSystem(env);
  if (program !== undefined) return { program, env };
  if (packagedChromium() === undefined || !existsSync(folder())) return undefined;
  const own = {
    LD_LIBRARY_PATH: join(folder(), 'al2023', 'lib'),
    FONTCONFIG_PATH: join(folder(), 'fonts'),
  };
  return { program: join(folder(), 'chromium'), env: { ...env, ...own } };
};

module.exports = { unpackChromium, findChromium };
