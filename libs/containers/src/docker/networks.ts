import { RuntimeProblem, type Owner } from '../pod-runtime.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { clusterLabels, isOfCluster } from './names.ts';

interface Found {
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly IPAM?: { readonly Config?: readonly { readonly Subnet?: string }[] | null };
}

/** Networks of the daemon that a cluster made: bridges with ranges of its own. */
export class Networks {
  readonly #daemon: Daemon;
  readonly #owner: Owner;
  readonly #ensured = new Map<string, Promise<void>>();

  constructor(daemon: Daemon, owner: Owner) {
    this.#daemon = daemon;
    this.#owner = owner;
  }

  async ensure(name: string, ranges: readonly string[]): Promise<void> {
    const key = `${name} ${ranges.join(' ')}`;
    const done = this.#ensured.get(key) ?? this.#ensure(name, ranges);
    this.#ensured.set(key, done);
    await done.catch((error: unknown) => {
      this.#ensured.delete(key);
      throw error;
    });
  }

  async #ensure(name: string, ranges: readonly string[]): Promise<void> {
    const found = await this.#find(name);
    if (found !== undefined) {
      if (!isOfCluster(found.Labels ?? {}, this.#owner)) throw new RuntimeProblem('Sandbox', `the Docker network ${name} belongs to somebody else`);
      const has = (found.IPAM?.Config ?? []).map(({ Subnet }) => Subnet ?? '');
      if (has.toSorted().join(' ') === ranges.toSorted().join(' ')) return;
      await this.remove(name);
    }
    const options = {
      Name: name,
      Driver: 'bridge',
      CheckDuplicate: true,
      EnableIPv6: ranges.some((range) => range.includes(':')),
      IPAM: { Config: ranges.map((range) => ({ Subnet: range })) },
      Labels: clusterLabels(this.#owner),
    };
    await this.#daemon.ask('Sandbox', (docker) => docker.createNetwork(options)).catch((error: unknown) => {
      // 409: another node of this cluster was quicker.
      if (statusOf(error) !== 409) throw error;
    });
  }

  async remove(name: string): Promise<void> {
    this.#ensured.clear();
    await this.#daemon.ask('Sandbox', (docker) => docker.getNetwork(name).remove()).catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error;
    });
  }

  async #find(name: string): Promise<Found | undefined> {
    return this.#daemon.ask('Sandbox', (docker) => docker.getNetwork(name).inspect() as Promise<Found>).catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error;
      return undefined;
    });
  }
}
