import { apiVersionOf } from '../kind.ts';
import { autoscalingV1 } from './autoscaling/autoscaling-v1.ts';
import { kdoctorViews } from './kdoctor.ts';
import type { View } from './view.ts';

/** Other groups' and versions' faces of our kinds. */
export const views: readonly View[] = [...kdoctorViews, autoscalingV1];

const byResource = new Map(views.map((view) => [`${apiVersionOf(view)} ${view.resource}`, view]));
/** The view of a stored resource in an API version such as `kdoctor.io/v1beta1`. */
export const viewOf = (apiVersion: string, resource: string): View | undefined => byResource.get(`${apiVersion} ${resource}`);
