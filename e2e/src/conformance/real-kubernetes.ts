import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '@roundsman/testkit';

export const kubernetesVersion = '1.32.2';
const etcdVersion = '3.5.21';
const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
/** Modules that k8s.io/kubernetes keeps in its own tree: the module proxy has them under v0. */
const staging =
  'api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver'.split(' ');

/** Where the programs are built and kept, some 300 MB. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'roundsman', `kubernetes-${kubernetesVersion}`);

/** Builds what is not there yet, with Go, from its module proxy. Some ten minutes on one core the first time. */
export function buildKubernetes(say: (text: string) => void): string {
  const bin = join(cacheFolder, 'bin');
  mkdirSync(bin, { recursive: true });
  const go = (folder: string, ...args: string[]): void => void execFileSync('go', args, { cwd: folder, stdio: 'inherit', env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' } });
  const has = (name: string): boolean => existsSync(join(bin, name));
  if (!programs.every(has)) {
    const version = `v0.${kubernetesVersion.split('.').slice(1).join('.')}`;
    writeFileSync(join(cacheFolder, 'go.mod'), `module conformance\n\ngo 1.23.0\n\ngodebug default=go1.23\n\ngodebug winsymlink=0\n\nrequire k8s.io/kubernetes v${kubernetesVersion}\n\nreplace (\n${staging.map((name) => `\tk8s.io/${name} => k8s.io/${name} ${version}`).join('\n')}\n)\n`);
    writeFileSync(join(cacheFolder, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport (\n${programs.map((name) => `\t_ "k8s.io/kubernetes/cmd/${name}"`).join('\n')}\n)\n`);
    go(cacheFolder, 'mod', 'tidy');
    const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${kubernetesVersion} -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${kubernetesVersion.split('.')[1]}`;
    for (const name of programs.filter((one) => !has(one))) {
      say(`Building ${name} ...`);
      go(cacheFolder, 'build', '-trimpath', '-ldflags', flags, '-o', join(bin, name), `k8s.io/kubernetes/cmd/${name}`);
    }
  }
  if (!has('etcd')) {
    say('Building etcd ...');
    const folder = join(cacheFolder, 'etcd');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'go.mod'), `module etcd\n\ngo 1.23.0\n\nrequire go.etcd.io/etcd/server/v3 v${etcdVersion}\n`);
    writeFileSync(join(folder, 'main.go'), 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n');
    go(folder, 'mod', 'tidy');
    go(folder, 'build', '-trimpath', '-o', join(bin, 'etcd'), '.');
  }
  return bin;
}

/** A real control plane on loopback, without nodes: etcd, kube-apiserver, kube-controller-manager, kube-scheduler. */
export class RealKubernetes {
  readonly folder = mkdtempSync(join(tmpdir(), 'roundsman-kubernetes-'));
  readonly #children = new Map<string, ChildProcess>();
  readonly #args = new Map<string, readonly string[]>();
  #bin = '';

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  static async start(bin: string): Promise<RealKubernetes> {
    const cluster = new RealKubernetes();
    try {
      await cluster.#start(bin);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async #start(bin: string): Promise<void> {
    const [etcd, peer, api, controllers, scheduler] = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
    const at = (name: string): string => join(this.folder, name);
    const run = (name: string, args: readonly string[]): void => {
      this.#args.set(name, args);
      this.#run(name);
    };
    this.#bin = bin;
    execFileSync('openssl', ['genrsa', '-out', at('sa.key'), '2048'], { stdio: 'ignore' });
    const token = crypto.randomUUID();
    writeFileSync(at('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 });
    run('etcd', ['--data-dir', at('etcd'), '--listen-client-urls', `http://127.0.0.1:${etcd}`, '--advertise-client-urls', `http://127.0.0.1:${etcd}`, '--listen-peer-urls', `http://127.0.0.1:${peer}`, '--initial-advertise-peer-urls', `http://127.0.0.1:${peer}`, '--initial-cluster', `default=http://127.0.0.1:${peer}`]);
    run('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${etcd}`, '--bind-address=127.0.0.1', `--secure-port=${api}`, `--cert-dir=${at('certs')}`, `--token-auth-file=${at('tokens.csv')}`, '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc', `--service-account-key-file=${at('sa.key')}`, `--service-account-signing-key-file=${at('sa.key')}`, '--service-cluster-ip-range=10.96.0.0/16', '--advertise-address=127.0.0.1', '--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none',
    ]);
    writeFileSync(
      this.kubeconfig,
      JSON.stringify({
        apiVersion: 'v1', kind: 'Config', 'current-context': 'real',
        clusters: [{ name: 'real', cluster: { server: `https://127.0.0.1:${api}`, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'admin', user: { token } }],
        contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
      }),
      { mode: 0o600 },
    );
    await this.#answers();
    run('kube-controller-manager', [`--kubeconfig=${this.kubeconfig}`, `--service-account-private-key-file=${at('sa.key')}`, `--secure-port=${controllers}`, `--cert-dir=${at('certs-kcm')}`, '--leader-elect=false', '--use-service-account-credentials=false']);
    run('kube-scheduler', [`--kubeconfig=${this.kubeconfig}`, `--secure-port=${scheduler}`, `--cert-dir=${at('certs-ks')}`, '--leader-elect=false']);
    await eventually(() => execFileSync('kubectl', ['--kubeconfig', this.kubeconfig, 'get', 'serviceaccount', 'default', '-o', 'name'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).startsWith('serviceaccount'), { within: 60_000, every: 250 });
  }

  logs(name: string): string {
    return readFileSync(join(this.folder, `${name}.log`), 'utf8');
  }

  /** Ends one of the programs at once; `again` starts it as it was. */
  kill(name: 'kube-apiserver'): Promise<void> {
    return this.#end(this.#children.get(name));
  }

  async again(name: 'kube-apiserver'): Promise<void> {
    this.#run(name);
    await this.#answers();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#children.values()].map((child) => this.#end(child)));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #run(name: string): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    this.#children.set(name, spawn(join(this.#bin, name), this.#args.get(name) ?? [], { stdio: ['ignore', log, log], cwd: this.folder }));
    closeSync(log);
  }

  async #answers(): Promise<void> {
    await eventually(() => execFileSync('kubectl', ['--kubeconfig', this.kubeconfig, 'get', '--raw', '/readyz'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) === 'ok', { within: 60_000, every: 250 });
  }

  #end(child: ChildProcess | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }
}
