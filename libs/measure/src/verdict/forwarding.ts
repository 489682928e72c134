import type { FindingCode } from '@roundsman/api';
import { compareNames } from '../names.ts';
import { forwardingLayers, type Below, type ForwardingLayer } from './below.ts';
import { causeOf, dominantOf, failing, impairment, topStatus } from './cause.ts';
import { draftOf, type Draft, type Words } from './draft.ts';
import { limited } from './mesh.ts';
import { bySource, combine, deadAmong, type Health, type Observation } from './observation.ts';

/** Causes that tell more than where it fails. */
const telling = new Set<FindingCode | undefined>(['name-unresolved', 'tls-failed', 'target-forbidden', 'wrong-status']);
/** What a gateway says when it does not reach what is behind it. */
const gatewayTrouble = new Set(['502', '503', '504']);

/** A layer that has one address for all nodes: the Service's cluster address, its load balancer, the ingress. Of one family. */
export function judgeAddress(layer: Exclude<ForwardingLayer, 'nodePort'>, observations: readonly Observation[], below: Below): Draft[] {
  const trusted = below.trusted(observations, layer);
  const dead = deadAmong(trusted);
  const witnesses = trusted.filter(({ result }) => !dead.has(result.target));
  const nodes = [...bySource(witnesses)].sort(([a], [b]) => compareNames(a, b)).map(([node, all]) => ({ node, all, health: combine(all) }));
  if (layer === 'clusterIP') for (const { node, health } of nodes) below.service.set(node, health);
  const down = nodes.filter(({ health }) => health === 'down');
  const drafts: Draft[] = [];
  const { family } = below;
  const add = (draft: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>): Draft => {
    const made = draftOf({ layer, family, ...draft });
    drafts.push(made);
    return made;
  };
  for (const [target, seen] of dead) {
    const code = codeOf(layer, seen);
    const subject = `target ${target.replace(`/${family ?? ''}`, '')}`;
    add({ code, severity: 'critical', subject, seen, say: ({ over, why, cause }) => `Of the addresses of ${forwardingLayers[layer]}, ${target.slice(target.lastIndexOf('/') + 1)} ${failing(cause)} from any node${over}, others do${why}.` });
  }
  if (down.length > 0 && down.length === nodes.length) {
    const seen = down.flatMap(({ all }) => all);
    const whole = wholeOf(layer, seen, below);
    if (below.whole !== undefined && explains(below.whole, whole.code, seen)) below.whole.above.add(forwardingLayers[layer]);
    else {
      const draft = add({ severity: 'critical', subject: `layer ${layer}`, seen, ...whole });
      below.whole ??= draft;
    }
    return drafts;
  }
  const alone: NodeSeen[] = [];
  for (const one of down) {
    const forwarder = below.forwarders.get(one.node);
    if (forwarder !== undefined) {
      forwarder.above.add(`${forwardingLayers[layer]} from there`);
    } else {
      alone.push(one);
    }
  }
  if (layer === 'clusterIP') judgeForwarders(alone, below, add);
  else judgeWays(layer, alone, below, add);
  judgeImpaired(layer, nodes, below, add);
  return drafts;
}

interface NodeSeen {
  node: string;
  all: Observation[];
  health: Health;
}
type Add = (draft: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>) => Draft;

/** Nodes from which the Service does not answer by its cluster address, though it does from others. */
function judgeForwarders(down: readonly NodeSeen[], below: Below, add: Add): void {
  for (const { node, all } of down) {
    const although = below.although([node]).replace('every endpoint answers', 'the endpoints answer');
    below.forwarders.set(node, add({
      code: 'service-forwarding', severity: 'critical', subject: `node ${node}`, seen: all,
      say: ({ over, why, at, cause }) => `On node ${node} the service forwarding (kube-proxy or its like) is broken${over}: the Service at ${at} ${failing(cause)} there${although}, and from other nodes it does${why}.`,
    }));
  }
}

/** Ways from single nodes to an address that others reach. */
function judgeWays(layer: ForwardingLayer, down: NodeSeen[], below: Below, add: Add): void {
  for (const { node, all } of limited(down, 'path-broken', 'critical', add)) {
    const code = codeOf(layer, all);
    const although = below.although([node]);
    add({
      code: code === wholeCodes[layer] ? 'path-broken' : code, severity: 'critical', subject: `path ${node} -> ${layer}`, seen: all,
      say: ({ over, why, at, cause }) =>
        cause?.answers === true
          ? `${capital(forwardingLayers[layer])} (${at}) ${failing(cause)} from node ${node}${over}${although}; from other nodes it does${why}.`
          : `From node ${node} ${forwardingLayers[layer]} (${at}) is not reached${over}${although}; from other nodes it is${why}. Look at the route to it and at the service forwarding on that node.`,
    });
  }
}

function judgeImpaired(layer: ForwardingLayer, nodes: readonly NodeSeen[], below: Below, add: Add): void {
  const impaired = nodes.filter(({ health }) => health === 'impaired');
  const open = impaired.filter(({ node }) => !below.impaired.has(node));
  for (const { node } of impaired) below.impaired.add(node);
  if (open.length === 0) return;
  const all = open.flatMap((one) => one.all);
  const name = forwardingLayers[layer];
  if (open.length === nodes.length && nodes.length > 1) {
    const { code, text } = impairment(all);
    const hint = layer === 'clusterIP' && code === undefined && below.although(nodes.map(({ node }) => node)) !== '' ? ' It may have endpoints that do not answer, besides those that do.' : '';
    add({ code: code ?? causeOf(all)?.code ?? 'target-degraded', severity: 'warning', subject: `layer ${layer}`, seen: all, say: ({ over, at }) => `${capital(name)} (${at}) is degraded from everywhere${over}: ${text}.${hint}` });
    return;
  }
  for (const one of limited(open, 'path-degraded', 'warning', add)) {
    const { code, text } = impairment(one.all);
    add({ code: code ?? 'path-degraded', severity: 'warning', subject: `path ${one.node} -> ${layer}`, seen: one.all, say: ({ over, at }) => `${capital(name)} (${at}) is degraded from node ${one.node}${over}: ${text}.` });
  }
}

/** Codes of a layer that fails for everybody, without a cause that tells more. */
const wholeCodes: Record<ForwardingLayer, FindingCode> = { clusterIP: 'service-down', nodePort: 'node-port-down', loadBalancer: 'load-balancer-down', ingress: 'ingress-down' };

export function codeOf(layer: ForwardingLayer, seen: readonly Observation[]): FindingCode {
  const code = causeOf(seen)?.code;
  if (layer === 'ingress' && code === 'wrong-status') {
    const status = topStatus(seen) ?? '';
    return status === '404' ? 'ingress-no-rule' : gatewayTrouble.has(status) ? 'ingress-backend' : 'ingress-down';
  }
  return telling.has(code) ? code! : wholeCodes[layer];
}

/** Does what is broken below make this fail too? An ingress controller that does not answer at all, or has no rule, has a fault of its own. */
function explains(whole: Draft, code: FindingCode, seen: readonly Observation[]): boolean {
  if (whole.layer === 'endpoint') return true;
  if (telling.has(code)) return false;
  if (code.startsWith('ingress-')) return code === 'ingress-backend' || (whole.layer === 'loadBalancer' && code === 'ingress-down' && dominantOf(seen)?.text === dominantOf(whole.seen)?.text);
  return true;
}

export function wholeOf(layer: ForwardingLayer, seen: readonly Observation[], below: Below): Pick<Draft, 'code' | 'say'> {
  const code = codeOf(layer, seen);
  const nodes = [...new Set(seen.map(({ from }) => from))];
  const from = nodes.length === 1 ? `from ${nodes[0]!}, the only node that could tell` : 'from any node';
  const although = below.although(nodes);
  const sentence = (subject: string, hint: (words: Words) => string): Pick<Draft, 'code' | 'say'> => ({
    code,
    say: (words) => `${subject} (${words.at}) ${failing(words.cause, layer === 'nodePort')} ${from}${words.over}${although}${words.why}.${hint(words)}`,
  });
  if (code === 'name-unresolved') return { code, say: ({ over, why, at }) => `The host name of ${forwardingLayers[layer]} (${at}) leads nowhere ${from}${over}${why}.` };
  if (telling.has(code)) return sentence(capital(forwardingLayers[layer]), () => '');
  switch (code) {
    case 'service-down':
      return sentence("The Service's cluster address", ({ cause }) =>
        cause?.code === 'target-refused'
          ? ' The Service has no ready endpoints, or its selector or target port is wrong: kubectl get endpointslices tells.'
          : ' The rules for it are missing on every node (kube-proxy or its like), or the Service has no endpoints.');
    case 'node-port-down':
      return sentence('The node ports', () => ' A firewall may drop the range of node ports, or kube-proxy opens none on these addresses.');
    case 'load-balancer-down':
      return sentence('The load balancer', () => ' Look at what announces its address and at its health checks.');
    case 'ingress-no-rule':
      return { code, say: ({ over, at }) => `The ingress controller (${at}) answers 404 ${from === 'from any node' ? 'to every node' : from}${over}${although}: it has no rule for this host and path.` };
    case 'ingress-backend':
      return { code, say: ({ over, at }) => `The ingress controller (${at}) answers ${topStatus(seen)!}${over}${although}: it does not reach the Service behind its rule, or finds no endpoints of it.` };
    default:
      return sentence('The ingress controller', () => ' Look at the controller and the Service before it.');
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
