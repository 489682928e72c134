import type { Duplex, Readable, Writable } from 'node:stream';

/**
 * Runs the containers of pods on one node; nothing here knows restart policies, probes or the API: whoever uses it decides, this does.
 * A sandbox is what the containers of one pod share (network, IPC, perhaps process ids): with Docker a pause container.
 * Several nodes may share one daemon: everything made carries the labels of its cluster and node, and nothing else is ever listed or touched.
 */
export interface PodRuntime {
  /** `docker://20.10.24`, as in nodeInfo.containerRuntimeVersion. */
  readonly version: string;
  /** Why containers cannot be run now, in words; undefined when they can. Cheap. */
  problem(): Promise<string | undefined>;

  /** Present on this machine? `id` is the image's own id. */
  image(reference: string): Promise<ImageStatus | undefined>;
  /** Throws RuntimeProblem `ImagePull` with the daemon's words. */
  pull(reference: string, signal?: AbortSignal, credentials?: RegistryCredentials): Promise<ImageStatus>;
  /** All images of an archive as `docker save` writes it, with their tags. Throws RuntimeProblem `ImageLoad`. */
  loadImages(archive: string): Promise<void>;
  /** Takes away images that no container has and that say of themselves to be one build of many (label `imageBuildLabel`), but those with these tags; answers the tags that are gone. */
  removeOldBuilds(kept: readonly string[]): Promise<string[]>;

  /** Makes and starts it. One per pod uid: an existing one that runs is given back, one that has ended is started again or made anew, one on another network is made anew. */
  startSandbox(spec: SandboxSpec): Promise<Sandbox>;
  /** One that is there, running or not. */
  sandbox(podUid: string): Promise<Sandbox | undefined>;
  /** Ends everything that shares it and removes it with all containers of the pod. Resolves when all is gone; also when it never was. */
  removePod(podUid: string): Promise<void>;

  /** Makes and starts one run of a container. Throws RuntimeProblem `Create` or `Start` (a command that is not in the image); what was half made is left, exited, so that it can be told of. */
  startContainer(config: ContainerConfig): Promise<PodContainer>;
  /** TERM, then KILL after `graceMs` (0: KILL at once). Resolves when it has ended; also when it never was. */
  stopContainer(id: string, graceMs: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  inspect(id: string): Promise<PodContainer | undefined>;
  /** All pods of this node that have anything here, running or not: what a new agent adopts. The node's own sandbox is none of them. */
  pods(): Promise<PodOnRuntime[]>;
  /** Changes as they happen. Not a record: whoever listens also looks at `pods()` now and then. */
  watch(listener: (event: RuntimeEvent) => void): () => void;

  /** Output kept so far and, with `follow`, what comes until the container ends. Stream errors name the reason. */
  logs(id: string, options: LogOptions, signal: AbortSignal): Promise<Readable>;
  exec(id: string, options: ExecOptions, signal: AbortSignal): Promise<ExecSession>;
  /** To the program that runs; `stdin` only reaches it when the container was made with one. */
  attach(id: string, options: Omit<ExecOptions, 'command'>, signal: AbortSignal): Promise<ExecSession>;
  /** A connection to a port as seen from inside the pod (its localhost); either side may end before the other. */
  connect(podUid: string, port: number, signal: AbortSignal): Promise<Duplex>;
  /** Used so far; those that have ended are left out. One look at the machine for all. */
  stats(ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStats>>;

  /** Makes a network of the daemon's, whose sandboxes have addresses of these ranges, unless it is there; one of other ranges is made anew when nothing uses it. */
  ensureNetwork(name: string, ranges: readonly string[]): Promise<void>;
  /** Also when there is none. */
  removeNetwork(name: string): Promise<void>;

  /** Lets go of the daemon; everything goes on running. */
  close(): Promise<void>;
}

/** On an image that is made from sources, here, again and again: the repository of its tags. */
export const imageBuildLabel = 'roundsman.io/build-of';

/** Who asks a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

export interface ImageStatus {
  readonly id: string;
  /** `repo@sha256:...` where the daemon knows one, else the id. */
  readonly digest: string;
  /** USER of the image: number, name, or empty for root. */
  readonly user: string;
  readonly bytes: number;
}

/** What a sandbox is connected to. */
export type SandboxNetwork =
  /** The machine's own network. */
  | { readonly kind: 'host' }
  /** That of another sandbox: a node that has a network namespace of its own keeps it in one. */
  | { readonly kind: 'sandbox'; readonly id: string }
  /** A namespace of its own with nothing but loopback: whoever asked for it connects it. `addresses` are only remembered, and given back by `pods()`. */
  | { readonly kind: 'none'; readonly addresses: readonly string[] }
  /** A network of the daemon's, with these addresses on it. */
  | { readonly kind: 'docker'; readonly network: string; readonly addresses: readonly string[] };

export interface SandboxSpec {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly hostname: string;
  readonly network: SandboxNetwork;
  readonly hostPID: boolean;
  readonly hostIPC: boolean;
  readonly shareProcessNamespace: boolean;
  /** hostPort 0: not bound on the host. Only a network of the daemon's binds them: elsewhere whoever connects the sandbox does. */
  readonly ports: readonly { readonly containerPort: number; readonly protocol: 'TCP' | 'UDP' | 'SCTP'; readonly hostPort: number; readonly hostIP: string }[];
  /** `name:address` lines for /etc/hosts. */
  readonly extraHosts: readonly string[];
  readonly sysctls: Readonly<Record<string, string>>;
}

export interface Sandbox {
  readonly id: string;
  readonly podUid: string;
  readonly running: boolean;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Its process, whose namespaces it has; absent while it does not run, and in lists. */
  readonly pid?: number;
  /** As it was made; undefined when that is not known. */
  readonly network: SandboxNetwork | undefined;
  /** Of the pod, one per family, also when it has ended; empty on the network of the host or of another sandbox. */
  readonly addresses: readonly string[];
}

/** Whose containers: the cluster (id of a home) and one node of it. */
export interface Owner {
  readonly cluster: string;
  readonly node: string;
}

/** In place of a pod's uid: the sandbox of the node itself, where it has a network namespace of its own. */
export const nodeSandboxUid = ({ cluster, node }: Owner): string => `node.${cluster}.${node}`;

export interface Mount {
  /** Absolute, on the host; it must exist. */
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
  readonly propagation?: 'rprivate' | 'rslave' | 'rshared';
}

export interface ContainerConfig {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly sandboxId: string;
  /** Of the container in its pod. */
  readonly name: string;
  /** 0 for its first run, then one more each time: the restart count it starts with. */
  readonly attempt: number;
  readonly image: string;
  /** Overrides ENTRYPOINT and CMD as in Kubernetes; absent: the image's. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly workingDir?: string;
  readonly mounts: readonly Mount[];
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly resources: {
    /** Thousandths of a core: a hard limit. */
    readonly cpuLimitMillis?: number;
    /** Thousandths of a core: weight against others. */
    readonly cpuRequestMillis?: number;
    readonly memoryLimitBytes?: number;
  };
  readonly security: {
    /** `uid` or `uid:gid`; absent: the image's. */
    readonly user?: string;
    readonly supplementalGroups: readonly number[];
    readonly privileged: boolean;
    readonly addCapabilities: readonly string[];
    readonly dropCapabilities: readonly string[];
    readonly readOnlyRootFilesystem: boolean;
    readonly noNewPrivileges: boolean;
  };
  /** Kept with the container and given back by `inspect` and `pods`: what a later agent must know (hash of its spec, kind of container). */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PodContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited';
  readonly image: string;
  readonly imageId: string;
  readonly pid?: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly exitCode?: number;
  readonly signal?: number;
  readonly oomKilled: boolean;
  /** The daemon's words when it could not be started. */
  readonly problem?: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PodOnRuntime {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly sandbox: Sandbox | undefined;
  /** All runs there are, newest attempt first per name. */
  readonly containers: readonly PodContainer[];
}

/** `container` is undefined for the sandbox itself. */
export interface RuntimeEvent {
  readonly podUid: string;
  readonly container: string | undefined;
  readonly id: string;
  readonly type: 'started' | 'ended' | 'removed' | 'oom';
}

export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  /** Milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly limitBytes?: number;
}

export interface ExecOptions {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
}

export interface ExecSession {
  /** Ending it half-closes: the program sees end of file. Absent without stdin. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  /** Absent with a terminal. */
  readonly stderr: Readable | undefined;
  resize(columns: number, rows: number): Promise<void>;
  /** Of the program; undefined when it is not known (attach: the stream ended while it goes on). */
  readonly exitCode: Promise<number | undefined>;
}

export interface ContainerStats {
  readonly atMs: number;
  /** Processor time since its start. */
  readonly cpuNanos: bigint;
  /** What it cannot give back: usage without inactive file pages, as Kubernetes counts. */
  readonly memoryWorkingSetBytes: number;
}

/** What the runtime could not do, with its words. */
export class RuntimeProblem extends Error {
  override readonly name = 'RuntimeProblem';
  constructor(
    readonly code: 'Unavailable' | 'ImagePull' | 'ImageLoad' | 'ImageNotFound' | 'Sandbox' | 'PortInUse' | 'Create' | 'Start' | 'Exec' | 'NotFound',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
