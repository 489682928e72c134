// Records what the autoscaler of Kubernetes 1.32.2 makes of the situations of recorder_test.go into recorded.json. Needs Go and its module
// proxy; some minutes the first time:  node apps/controllers/src/autoscaling/testing/record.mjs
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const version = '1.32.2';
const folder = mkdtempSync(join(tmpdir(), 'autoscaler-'));
const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod', RECORD_INTO: join(import.meta.dirname, 'recorded.json') };
const go = (...args) => execFileSync('go', args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
try {
  writeFileSync(join(folder, 'go.mod'), 'module download\n');
  const { Dir } = JSON.parse(go('mod', 'download', '-json', `k8s.io/kubernetes@v${version}`));
  const staging = [...readFileSync(join(Dir, 'go.mod'), 'utf8').matchAll(/^\t(k8s\.io\/\S+) => \.\/staging/gm)].map(([, name]) => name);
  const replaced = staging.map((name) => `\t${name} => ${name} v0${version.slice(1)}`);
  writeFileSync(join(folder, 'go.mod'), `module recorder\n\ngo 1.23.0\n\ngodebug default=go1.23\n\nrequire k8s.io/kubernetes v${version}\n\nreplace (\n${replaced.join('\n')}\n)\n`);
  const own = join(folder, 'podautoscaler');
  mkdirSync(own);
  cpSync(join(Dir, 'pkg/controller/podautoscaler'), own, { recursive: true, filter: (path) => !path.includes('_test.go') && !/podautoscaler\/(metrics|monitor)$/.test(path) });
  copyFileSync(join(import.meta.dirname, 'recorder_test.go'), join(own, 'recorder_test.go'));
  go('mod', 'tidy');
  process.stdout.write(go('test', '-count=1', '-run', 'TestRecord', './podautoscaler'));
} finally {
  execFileSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true, force: true });
}
