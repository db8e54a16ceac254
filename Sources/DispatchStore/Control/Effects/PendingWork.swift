public import Foundation

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
}

/// Work that has failed for good, and is kept until you run it again or remove it.
public struct DeadLetter: Sendable {
  /// The key that all runs of the work share.
  public let key: String
  /// The name of the effect.
  public let effect: String
  /// The action; nil if it is saved, and can't be decoded.
  public let action: (any ActionType)?
  /// The number of attempts.
  public let attempts: Int
  /// The text of the last error.
  public let error: String
  /// When it failed.
  public let date: Date
}
