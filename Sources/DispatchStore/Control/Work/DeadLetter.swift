public import Foundation

/// Work that has failed for good, and is kept until you run it again or remove it.
public struct DeadLetter: Sendable {
  /// The kind of work.
  public enum Kind: Sendable {
    /// A durable effect whose attempts are used up.
    case effect
    /// A scheduled action that was saved, and has failed.
    case schedule
  }

  /// The kind of work.
  public let kind: Kind
  /// The name of the effect, or of the scheduled action.
  public let name: String
  /// The action; nil if it is saved, and can't be decoded.
  public let action: (any ActionType)?
  /// The number of attempts.
  public let attempts: Int
  /// The text of the last error.
  public let error: String
  /// The time of the failure.
  public let date: Date
  /// The key of an effect's work, and the name of a scheduled action.
  let key: String

  private init(
    _ kind: Kind, _ key: String, named name: String, _ action: (any ActionType)?, attempts: Int,
    _ error: String?, failedAt milliseconds: Int64
  ) {
    (self.kind, self.key, self.name, self.action) = (kind, key, name, action)
    (self.attempts, self.error) = (attempts, error ?? "")
    date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
  }

  /// Nil for work that has not failed for good.
  init?(_ entry: OutboxEntry) {
    let progress = entry.progress
    guard let failed = progress.failed else { return nil }
    self.init(
      .effect, entry.key, named: entry.effect, entry.action, attempts: progress.attempts,
      progress.error, failedAt: failed)
  }

  init(_ letter: ScheduleLetter) {
    self.init(
      .schedule, letter.name, named: letter.name, letter.action, attempts: 1, letter.error,
      failedAt: letter.failed ?? 0)
  }
}
