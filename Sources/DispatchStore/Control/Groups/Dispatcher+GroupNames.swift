// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias ActionGroup = DispatchStore::ActionGroup
  /// The module's type of the same name.
  public typealias ActionGroupBuilder = DispatchStore::ActionGroupBuilder
  /// The module's type of the same name.
  public typealias ActionGroupHandle = DispatchStore::ActionGroupHandle
  /// The module's type of the same name.
  public typealias ActionGroupResult = DispatchStore::ActionGroupResult
  /// The module's type of the same name.
  public typealias ActionStep = DispatchStore::ActionStep
  /// The module's type of the same name.
  public typealias ActionStepResult = DispatchStore::ActionStepResult
  /// The module's type of the same name.
  public typealias UncompensatedGroup = DispatchStore::UncompensatedGroup
}
