export { serviceNames, controlPlane } from './services.ts';
