import { writeFileSync } from 'node:fs';
import { play } from './kubectl.ts';
import { buildKubernetes, kubernetesVersion, RealKubernetes } from './real-kubernetes.ts';
import { script } from './script.ts';

// `pnpm conformance`: plays the script against a real Kubernetes and keeps what it printed, for conformance.e2e.ts to compare with.
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const cluster = await RealKubernetes.start(buildKubernetes(say));
try {
  say('Playing the script ...');
  const outcomes = await play(script, cluster.kubeconfig);
  const stuck = Object.entries(outcomes).filter(([, { code }]) => code === -1);
  for (const [name, { stdout }] of stuck) say(`${name}: ${stdout}`);
  const file = new URL('../../src/conformance/recorded.json', import.meta.url);
  writeFileSync(file, `${JSON.stringify({ kubernetes: kubernetesVersion, outcomes }, undefined, 1)}\n`);
  say(`${Object.keys(outcomes).length} outcomes of Kubernetes ${kubernetesVersion} are recorded.`);
  process.exitCode = stuck.length > 0 ? 1 : 0;
} finally {
  await cluster.stop();
}
