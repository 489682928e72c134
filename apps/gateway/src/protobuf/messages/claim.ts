/** Claims for volumes, as stateful sets hold them. */
export const claimMessages = {
  VolumeResourceRequirements: 'limits=1:map<str,Quantity> requests=2:map<str,Quantity>',
  TypedLocalObjectReference: 'apiGroup=1:str? kind=2:str name=3:str',
  TypedObjectReference: 'apiGroup=1:str? kind=2:str name=3:str namespace=4:str?',
  PersistentVolumeClaimSpec: 'accessModes=1:str[] selector=4:LabelSelector resources=2:VolumeResourceRequirements volumeName=3:str storageClassName=5:str? volumeMode=6:str? dataSource=7:TypedLocalObjectReference dataSourceRef=8:TypedObjectReference volumeAttributesClassName=9:str?',
  PersistentVolumeClaimCondition: 'type=1:str status=2:str lastProbeTime=3:Time lastTransitionTime=4:Time reason=5:str message=6:str',
  ModifyVolumeStatus: 'targetVolumeAttributesClassName=1:str status=2:str',
  PersistentVolumeClaimStatus: 'phase=1:str accessModes=2:str[] capacity=3:map<str,Quantity> conditions=4:PersistentVolumeClaimCondition[] allocatedResources=5:map<str,Quantity> allocatedResourceStatuses=7:map<str,str> currentVolumeAttributesClassName=8:str? modifyVolumeStatus=9:ModifyVolumeStatus',
  PersistentVolumeClaim: 'metadata=1:ObjectMeta spec=2:PersistentVolumeClaimSpec status=3:PersistentVolumeClaimStatus',
};
