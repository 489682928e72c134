import { copyFileSync, chmodSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { Home, State } from './home.ts';

/** Files with which kubectl and nats reach the product; all 0600. */
export function writeAccess(home: Home, state: State, token: string): void {
  const authority = home.file('keys', 'gateway', 'ca.crt');
  const port = new URL(state.gateway).port;
  home.write(
    'kubeconfig',
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'roundsman',
      clusters: [{ name: 'roundsman', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': readFileSync(authority).toString('base64') } }],
      users: [{ name: 'roundsman', user: { token } }],
      contexts: [{ name: 'roundsman', context: { cluster: 'roundsman', user: 'roundsman', namespace: 'default' } }],
    }),
  );
  const key = home.file('nats.nk');
  if (existsSync(key)) chmodSync(key, 0o600);
  copyFileSync(home.file('keys', 'operator.nk'), key);
  chmodSync(key, 0o600);
  // As the nats program keeps its contexts: copy it to ~/.config/nats/context/roundsman.json to use it by name.
  home.write('nats-context.json', `${JSON.stringify({ description: `Roundsman in ${home.path}`, url: state.nats, nkey: key }, undefined, 2)}\n`);
}

/** How to go on: printed by `up`, also when it runs already. */
export function howToUse(home: Home, state: State): string {
  return `
  gateway   ${state.gateway}   token in ${home.file('token')}
  NATS      ${state.nats}   key in ${home.file('nats.nk')}
  Postgres  127.0.0.1:${state.ports['postgres']}   (read-only URL for the schema grafana: "grafana" in ${home.file('state.json')})

  export KUBECONFIG=${home.kubeconfig}
  kubectl get nodes,runners
  kubectl apply -f ${fileURLToPath(new URL('../../../deploy/examples/netreach.yaml', import.meta.url))} && kubectl get reports -w

  curl -sH "Authorization: Bearer $(cat ${home.file('token')})" ${state.gateway}/apis/roundsman.io/v1/reports

  nats --server ${state.nats} --nkey ${home.file('nats.nk')} sub 'rounds.v1.live.>'

  logs in ${home.file('logs')} · npx roundsman status · npx roundsman down
`;
}
