import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { parse } from 'yaml';
import { buildKubernetes, RealKubernetes } from '../conformance/real-kubernetes.ts';
import { KubectlCluster } from '../kubectl-cluster.ts';

/** A Kubernetes API that can be stopped and made to forget its history. */
export interface ApiServer {
  readonly folder: string;
  /** Of one who may do all. */
  readonly kubeconfig: string;
  /** Ends it without a word. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** Watches from before now are too old from now on. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

interface KubeconfigFile {
  clusters: { cluster: { server: string; [member: string]: unknown } }[];
  users: { user: Record<string, unknown> }[];
}
export const readKubeconfig = (file: string): KubeconfigFile => parse(readFileSync(file, 'utf8')) as KubeconfigFile;

export async function ownGateway(): Promise<ApiServer> {
  const cluster = await KubectlCluster.start();
  return {
    folder: cluster.folder,
    get kubeconfig() {
      return cluster.kubeconfig;
    },
    down: () => cluster.stopGateway(),
    up: () => cluster.startGateway(),
    async forget() {
      const client = new Client({ connectionString: cluster.databaseUrl });
      await client.connect();
      await client.query('delete from roundsman.changes');
      await client.end();
    },
    stop: () => cluster.stop(),
  };
}

export async function realKubernetes(): Promise<ApiServer> {
  const cluster = await RealKubernetes.start(buildKubernetes((text) => void process.stderr.write(`${text}\n`)));
  return {
    folder: cluster.folder,
    kubeconfig: cluster.kubeconfig,
    down: () => cluster.kill('kube-apiserver'),
    up: () => cluster.again('kube-apiserver'),
    // What it can be watched from begins anew with the server.
    async forget() {
      await cluster.kill('kube-apiserver');
      await cluster.again('kube-apiserver');
    },
    stop: () => cluster.stop(),
  };
}
