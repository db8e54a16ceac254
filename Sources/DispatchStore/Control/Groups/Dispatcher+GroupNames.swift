// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias ActionGroup = DispatchStore::ActionGroup
  /// The type of that name in the module.
  public typealias ActionGroupBuilder = DispatchStore::ActionGroupBuilder
  /// The type of that name in the module.
  public typealias ActionGroupHandle = DispatchStore::ActionGroupHandle
  /// The type of that name in the module.
  public typealias ActionGroupResult = DispatchStore::ActionGroupResult
  /// The type of that name in the module.
  public typealias ActionStep = DispatchStore::ActionStep
  /// The type of that name in the module.
  public typealias ActionStepResult = DispatchStore::ActionStepResult
  /// The type of that name in the module.
  public typealias UncompensatedGroup = DispatchStore::UncompensatedGroup
}
