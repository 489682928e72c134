import type { RunnerImage } from './image.ts';

/** Of an agent: the image of runners beside those that the person has set. */
export const imagesEnv = (image: RunnerImage | undefined): NodeJS.ProcessEnv =>
  image === undefined ? {} : { ROUNDSMAN_NODE_AGENT_IMAGE_ARCHIVES: [image.archive, process.env['ROUNDSMAN_NODE_AGENT_IMAGE_ARCHIVES']].filter(Boolean).join(',') };
