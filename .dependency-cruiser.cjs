/** The dependency rule of the design: app -> libs -> api; who may hold which driver. */
const only = (name, folder, packages, comment) => ({
  name,
  comment,
  severity: 'error',
  // Tests look at the world itself: e2e and the testkit may hold any driver.
  from: { path: '^(apps|libs)/', pathNot: [`^(${folder})/`, '\\.(spec|bench)\\.ts$', '/(test|testing|bench)/', '^libs/testkit/'] },
  to: { path: packages },
});
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'apps-not-to-apps', severity: 'error', from: { path: '^apps/([^/]+)/', pathNot: '^apps/roundsman/' }, to: { path: '^apps/', pathNot: '^apps/$1/' } },
    { name: 'libs-not-to-apps', severity: 'error', from: { path: '^libs/' }, to: { path: '^apps/' } },
    { name: 'no-deep-imports', comment: 'one entry per package; @roundsman/api/policy is a second one, because a measuring thread must not load the schemas, and /wire a third: runners need no kinds', severity: 'error', from: { path: '^(apps|libs)/([^/]+)/' }, to: { path: '^(apps|libs)/[^/]+/src/(?!index\\.ts$)', pathNot: ['^$1/$2/', '^libs/api/src/(policy|wire)\\.ts$'] } },
    { name: 'api-is-the-bottom', severity: 'error', from: { path: '^libs/api/' }, to: { path: '^libs/(?!api/)' } },
    { name: 'no-database-near-the-probe', severity: 'error', from: { path: '^apps/(node-agent|probe-runner)/' }, to: { path: '^libs/(store|reports)/' } },
    { name: 'pure-libs', comment: 'probes, checks, measure know neither Nest nor NATS', severity: 'error', from: { path: '^libs/(probes|checks|measure|api)/' }, to: { path: 'node_modules/(@nestjs|@nats-io|pg)/' } },
    { name: 'network-is-what-is-told', comment: 'the state of the network is told on the bus; whoever steers packets by it needs no more', severity: 'error', from: { path: '^libs/network/', pathNot: '\\.spec\\.ts$' }, to: { path: '^libs/(?!(api|bus|network)/)' } },
    only('nats-only-in-bus', 'libs/bus', 'node_modules/@nats-io/', 'only bus imports the NATS client'),
    only('postgres-only-in-store-and-reports', 'libs/store|libs/reports', 'node_modules/(pg|typeorm|pg-copy-streams)/', 'only store and reports import a Postgres driver'),
    only('docker-only-in-containers', 'libs/containers', 'node_modules/dockerode/', 'only containers imports dockerode'),
    only('kubernetes-only-in-cluster', 'libs/cluster', 'node_modules/@kubernetes/', 'only cluster imports the Kubernetes client'),
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    exclude: { path: '(^|/)dist/' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['@roundsman/source', 'import', 'node', 'default', 'types'] },
  },
};
