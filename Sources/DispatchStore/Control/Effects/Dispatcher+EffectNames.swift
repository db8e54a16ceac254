// As in `Dispatcher+Names.swift`.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias Effect = DispatchStore::Effect
  /// The type of that name in the module.
  public typealias EffectContext = DispatchStore::EffectContext
  /// The type of that name in the module.
  public typealias EffectPolicy = DispatchStore::EffectPolicy
  /// The type of that name in the module.
  public typealias EffectRegistration = DispatchStore::EffectRegistration
  /// The type of that name in the module.
  public typealias EffectRestart = DispatchStore::EffectRestart
  /// The type of that name in the module.
  public typealias EffectToken = DispatchStore::EffectToken
}
