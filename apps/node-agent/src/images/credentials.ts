import type { Pod } from '@roundsman/api';
import type { RegistryCredentials } from '@roundsman/containers';
import type { Materials } from '../environment/materials.ts';

interface Entry extends Partial<RegistryCredentials> {
  /** `username:password` in base64. */
  readonly auth?: string;
}
type Entries = Readonly<Record<string, Entry>>;

/** Docker's own registry has many names. */
const dockersOwn = /^(?:index\.docker\.io|registry-1\.docker\.io|docker\.io)$/;

/** What the pod's imagePullSecrets hold for the registry of an image, the most specific first. Throws for a secret that cannot be read. */
export function credentialsFor(image: string, { spec }: Pick<Pod, 'spec'>, { secrets }: Materials): RegistryCredentials[] {
  const entries = (spec.imagePullSecrets ?? []).flatMap(({ name = '' }) => Object.entries(entriesOf(name, secrets.get(name))));
  return entries
    .filter(([registry]) => matches(registry, image))
    .toSorted(([a], [b]) => b.length - a.length)
    .map(([, entry]) => credentialsOf(entry));
}

/** Of a secret that is not there (or holds none) nothing is known: the pull itself says what is missing. */
function entriesOf(name: string, data: ReadonlyMap<string, Buffer> | undefined): Entries {
  const config = data?.get('.dockerconfigjson');
  const legacy = data?.get('.dockercfg');
  try {
    if (config !== undefined) return (JSON.parse(config.toString()) as { auths?: Entries }).auths ?? {};
    return legacy === undefined ? {} : (JSON.parse(legacy.toString()) as Entries);
  } catch {
    // The error of the parser would repeat what the secret holds.
    throw new Error(`imagePullSecret "${name}" holds no JSON`);
  }
}

function credentialsOf({ username, password, auth = '' }: Entry): RegistryCredentials {
  if (username !== undefined && password !== undefined) return { username, password };
  const [user = '', ...rest] = Buffer.from(auth, 'base64').toString().split(':');
  return { username: user, password: rest.join(':') };
}

/** `registry:5000/path` or `*.example.com` against an image: each part of the host name by itself, the path from its beginning. */
function matches(registry: string, image: string): boolean {
  const [host = '', ...path] = registry.replace(/^https?:\/\//, '').replace(/\/v[12]\/?$/, '').replace(/\/$/, '').split('/');
  const [first = '', ...rest] = image.replace(/@.*$/, '').replace(/:[^:/]*$/, '').split('/');
  const named = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const [imageHost, imagePath] = named ? [first, rest] : ['docker.io', [first, ...rest]];
  const sameHost = dockersOwn.test(host) ? dockersOwn.test(imageHost) : new RegExp(`^${host.replaceAll(/[^\w*]/g, '\\$&').replaceAll('*', '[^.:]*')}$`).test(imageHost);
  return sameHost && path.every((part, at) => imagePath[at] === part);
}
