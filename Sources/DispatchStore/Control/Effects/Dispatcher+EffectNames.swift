// Names of the module as members of `Dispatcher`: see `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The module's type of the same name.
  public typealias Effect = DispatchStore::Effect
  /// The module's type of the same name.
  public typealias EffectContext = DispatchStore::EffectContext
  /// The module's type of the same name.
  public typealias EffectPolicy = DispatchStore::EffectPolicy
  /// The module's type of the same name.
  public typealias EffectRegistration = DispatchStore::EffectRegistration
  /// The module's type of the same name.
  public typealias EffectRestart = DispatchStore::EffectRestart
  /// The module's type of the same name.
  public typealias EffectToken = DispatchStore::EffectToken
}
