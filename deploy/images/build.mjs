#!/usr/bin/env node
// `pnpm image`: makes the image of the probe-runner from this repository, without a registry and without a container runtime.
//   pnpm image [folder]       into this folder (default .cache/images)
//   --if-needed               only when what lies there is not of this build
//   --json                    prints { image, tags, archive, bytes, made, seconds }
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeProbeRunnerImage } from './probe-runner.mjs';

const flags = process.argv.slice(2).filter((text) => text.startsWith('--'));
const [folder, ...more] = process.argv.slice(2).filter((text) => !text.startsWith('--'));
const unknown = [...flags.filter((flag) => !['--if-needed', '--json'].includes(flag)), ...more];
if (unknown.length > 0) {
  process.stderr.write(`image: ${unknown.join(' ')}: not understood; pnpm image [folder] [--if-needed] [--json]\n`);
  process.exit(2);
}
try {
  const made = await makeProbeRunnerImage(resolve(folder ?? join(dirname(fileURLToPath(import.meta.url)), '../../.cache/images')), { always: !flags.includes('--if-needed') });
  process.stdout.write(flags.includes('--json') ? `${JSON.stringify(made)}\n` : told(made));
} catch (error) {
  process.stderr.write(`image: ${error.message}\n`);
  process.exit(1);
}

function told({ image, tags, archive, bytes, made, seconds }) {
  return `${archive}
  ${(bytes / 1e6).toFixed(1)} MB, ${made ? `made in ${seconds.toFixed(1)} s` : 'made before'}; tags ${tags.join(' and ')}

  into Docker       docker load -i ${archive}
  into containerd   ctr -n k8s.io images import ${archive}
  into a registry   docker load -i ${archive} && docker tag ${image} REGISTRY/${image} && docker push REGISTRY/${image}
                    (then ROUNDSMAN_CONTROLLERS_RUNNER_IMAGE=REGISTRY/${image})
`;
}
