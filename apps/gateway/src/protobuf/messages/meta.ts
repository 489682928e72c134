/** What all objects have, and how they are chosen and deleted. */
export const metaMessages = {
  ObjectMeta:
    'name=1:str generateName=2:str namespace=3:str selfLink=4:str uid=5:str resourceVersion=6:str generation=7:int64 creationTimestamp=8:Time deletionTimestamp=9:Time deletionGracePeriodSeconds=10:int64? labels=11:map<str,str> annotations=12:map<str,str> ownerReferences=13:OwnerReference[] finalizers=14:str[] managedFields=17:ManagedFieldsEntry[]',
  OwnerReference: 'kind=1:str name=3:str uid=4:str apiVersion=5:str controller=6:bool? blockOwnerDeletion=7:bool?',
  ManagedFieldsEntry: 'manager=1:str operation=2:str apiVersion=3:str time=4:Time fieldsType=6:str fieldsV1=7:FieldsV1 subresource=8:str',
  LabelSelectorRequirement: 'key=1:str operator=2:str values=3:str[]',
  FieldSelectorRequirement: 'key=1:str operator=2:str values=3:str[]',
  DeleteOptions: 'gracePeriodSeconds=1:int64? preconditions=2:Preconditions orphanDependents=3:bool? propagationPolicy=4:str? dryRun=5:str[] ignoreStoreReadErrorWithClusterBreakingPotential=6:bool?',
  Preconditions: 'uid=1:str? resourceVersion=2:str?',
  LabelSelector: 'matchLabels=1:map<str,str> matchExpressions=2:LabelSelectorRequirement[]',
};
