/** What is written on volumes and claims while they are bound, provisioned and removed: Kubernetes' own names, but for those of Roundsman's provisioners. */
export const storageAnnotations = {
  /** On a claim: it is bound, for good. */
  bindCompleted: 'pv.kubernetes.io/bind-completed',
  /** On either: the cluster, not a person, chose the other one. */
  boundByController: 'pv.kubernetes.io/bound-by-controller',
  /** On a volume: who made it. */
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  /** On a claim: who is to make its volume. */
  provisioner: 'volume.kubernetes.io/storage-provisioner',
  betaProvisioner: 'volume.beta.kubernetes.io/storage-provisioner',
  /** On a claim: the node of the pod that waits for it. */
  selectedNode: 'volume.kubernetes.io/selected-node',
  defaultClass: 'storageclass.kubernetes.io/is-default-class',
  betaDefaultClass: 'storageclass.beta.kubernetes.io/is-default-class',
  /** On either: the class, as it was named before there was a member for it. */
  betaClass: 'volume.beta.kubernetes.io/storage-class',
  /** On a volume that goes: the node whose agent removes its directory. */
  removedBy: 'roundsman.io/volume-removed-by',
} as const;

export const storageFinalizers = {
  claim: 'kubernetes.io/pvc-protection',
  volume: 'kubernetes.io/pv-protection',
  /** On a volume that was provisioned here: its directory is still there. */
  directory: 'roundsman.io/volume-directory',
} as const;

/** The provisioners that the small cluster has itself. */
export const provisioners = {
  /** A directory on the node of the first pod. */
  local: 'roundsman.io/local',
  /** A directory on an NFS server (parameters `server` and `path`), for all nodes. */
  nfs: 'roundsman.io/nfs',
} as const;

/** On a node, from its agent: the folder of the volumes that are made on it. */
export const volumesFolderAnnotation = 'roundsman.io/volumes-folder';
