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
  /// The number of attempts; zero for an action that never ran, since it can't be decoded.
  public let attempts: Int
  /// The text of the last error.
  public let error: String
  /// The time of the failure; of an action that never ran, when this process has found it.
  public let date: Date
  /// The key of an effect's work, and the name of a scheduled action.
  let key: String

  /// Nil for work that has not failed for good.
  init?(_ entry: OutboxEntry) {
    let progress = entry.progress
    guard let failed = progress.failed else { return nil }
    (kind, key, name, action) = (Kind.effect, entry.key, entry.effect, entry.action)
    (attempts, error) = (progress.attempts, progress.error ?? "")
    date = Date(timeIntervalSince1970: Double(failed) / 1_000)
  }

  /// - Parameter time: The time at which one was found that never ran.
  init(_ letter: ScheduleLetter, foundAt time: Int64) {
    (kind, key, name, action) = (Kind.schedule, letter.name, letter.name, letter.action)
    (attempts, error) = (letter.failed == nil ? 0 : 1, letter.error ?? "")
    date = Date(timeIntervalSince1970: Double(letter.failed ?? time) / 1_000)
  }
}
