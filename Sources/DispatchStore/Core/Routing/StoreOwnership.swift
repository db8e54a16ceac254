/// How a dispatcher holds a registered store; later versions may add cases.
@nonexhaustive
public enum StoreOwnership: Sendable {
  /// The dispatcher keeps the store alive until it is unregistered.
  case strong
  /// The dispatcher does not keep the store alive; its identifier is free once the store is released.
  ///
  /// If the store is released before its run in a dispatch starts, that run ends as cancelled.
  case weak
}
