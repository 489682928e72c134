import { serviceNames } from './services.ts';

/** What `roundsman serve --help` prints below the options. */
export const serveSettings = `
Settings come from the environment:
  ROUNDSMAN_NATS_URL        default nats://127.0.0.1:4222
  ROUNDSMAN_NATS_KEYS       folder with <identity>.nk, the nkey seed of each identity; none: connect without
  ROUNDSMAN_DATABASE_URL    postgres://user:password@host:port/database, for the services that keep something
  ROUNDSMAN_TARGET_DENY     CIDR ranges that no task may target, besides link-local ones and the NATS and Postgres above
  ROUNDSMAN_TARGET_DENY_ENDPOINTS  address:port pairs that no task may target either
  ROUNDSMAN_TARGET_ALLOW    ranges, addresses or address:port pairs that are open all the same
  ROUNDSMAN_HEALTH_PORT     serve /healthz, /readyz and /metrics there (ROUNDSMAN_HEALTH_HOST, default 127.0.0.1)
  ROUNDSMAN_LOG_LEVEL       trace, debug, info (default), warn, error
  ROUNDSMAN_LOG_FORMAT      json (default) or pretty (default on a terminal)
  ROUNDSMAN_<SERVICE>_<KEY> settings of one service; an unknown one stops the start and lists the known ones
Every setting: docs/settings.md
Services: ${serviceNames.join(', ')}`;
