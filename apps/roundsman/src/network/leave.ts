import { DockerPodRuntime } from '@roundsman/containers';
import type { Home } from '../home.ts';
import { clusterOf } from '../pods.ts';

/** Takes the links, routes and rules of the pod network off this machine, when no pods are left; why that did not work. They are made again when the home is started again. */
export async function removePodNetwork(home: Home): Promise<string | undefined> {
  const { dockerNetworkName, removeNetwork } = await import('@roundsman/node-agent');
  const cluster = clusterOf(home);
  const { docker, network } = home.state() ?? {};
  try {
    await removeNetwork(cluster);
    if (docker !== undefined && network?.mode === 'docker') await removeDockerNetwork(docker, cluster, dockerNetworkName(cluster));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function removeDockerNetwork(socketPath: string, cluster: string, name: string): Promise<void> {
  const runtime = new DockerPodRuntime({ cluster, node: '', socketPath });
  try {
    await runtime.removeNetwork(name);
  } finally {
    await runtime.close();
  }
}
