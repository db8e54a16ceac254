/// How a dispatcher holds a registered store.
public enum StoreOwnership: Sendable {
  /// The dispatcher keeps the store alive until it is unregistered.
  case strong
  /// The store lives as long as somebody else holds it; its identifier is free once it is gone.
  ///
  /// A store that is gone when its turn in a dispatch comes ends its part as cancelled.
  case weak
}
