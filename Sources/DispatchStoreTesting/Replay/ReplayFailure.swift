/// The first place at which a replayed log differs from the recorded one.
public struct ReplayDifference: Error, Sendable, Equatable, CustomStringConvertible {
  /// The store.
  public let store: String
  /// The store's version after the commit, as recorded.
  public let version: UInt64
  /// The action, as text; both if another one has made the commit in the replay.
  public let action: String
  /// The key path in the model, or `outcome` or `version`.
  public let path: String
  /// The value that was recorded; nil if there was none.
  public let recorded: String?
  /// The value in the replay; nil if there is none.
  public let replayed: String?

  /// The store, version, key path and both values.
  public var description: String {
    """
    The replay of store "\(store)" differs from the log in version \(version), at \(path): recorded \
    \(recorded ?? "nothing"), replayed \(replayed ?? "nothing"). The action is \(action).
    """
  }
}

/// The reason why a log can't be replayed.
public struct ReplayError: Error, CustomStringConvertible {
  /// The reason, and how to mend it.
  public let description: String
}
