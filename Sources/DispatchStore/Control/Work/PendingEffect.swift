/// Work of a durable effect that is not done yet.
public struct PendingEffect: Sendable {
  /// The key that all runs of the work share.
  public let key: String
  /// The name of the effect.
  public let effect: String
  /// The action that the effect follows; nil if it is saved, and its type is not known.
  public let action: (any ActionType)?
  /// The number of attempts that have failed.
  public let attempts: Int
  /// The text of the last error.
  public let lastError: String?

  init(_ entry: OutboxEntry) {
    let progress = entry.progress
    (key, effect, action) = (entry.key, entry.effect, entry.action)
    (attempts, lastError) = (progress.attempts, progress.error)
  }
}
