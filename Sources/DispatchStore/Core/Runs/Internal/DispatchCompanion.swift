import Foundation

/// Rows of a feature outside of the core that are saved with the last commit of a dispatch: its idempotency key, say.
///
/// If the action only reduces, it is atomic, and the rows are part of its commit. Otherwise they follow its stores' end.
class DispatchCompanion: @unchecked Sendable {  // because a subclass says why
  /// Returns the rows for the commit of an atomic action, whose stores have all finished.
  ///
  /// Called in the exclusive sections of its stores, so it runs no code of the user's.
  func rows(with replies: [String: any Sendable], from identifiers: [String]) -> [CompanionRow] {
    []
  }

  /// Returns the rows that were in no commit, once the stores have ended.
  func rows(of result: DispatchResult) -> [CompanionRow] { [] }

  /// The error of a dispatch that no store answers, so that nothing follows it; nil if that is a success.
  var errorIfUnanswered: DispatchError? { nil }

  /// Called when the dispatch is to begin later, before it can begin.
  func noteDelay(_ subject: DispatchSubject, in mode: Dispatcher.Mode) {}

  /// Called when the dispatch is cancelled or skipped while it is to begin later, before the call that does so returns.
  func cancelledBeforeItsTime() {}

  /// Called when the dispatch has ended, before anyone gets the result.
  func ended(_ result: DispatchResult, of details: DispatchDetails) {}
}

/// A row that a feature saves besides the rows of stores.
struct CompanionRow: Sendable {
  /// The kind of a row: the part of the store of such rows.
  enum Kind: Int, Sendable, CaseIterable {
    case idempotencyKey = 1
    case effect = 2
    case schedule = 3
  }

  let kind: Kind
  let key: String
  /// Nil removes the row.
  let value: (any CompanionValue)?
  /// Whether the row is still to be saved: asked in the order of commits, since another row may have taken its place.
  ///
  /// Called under the persistence's lock, which may be inside a store's: takes only a lock that nests in it.
  var isCurrent: (@Sendable () -> Bool)?

  /// The most bytes of a key: PostgreSQL's index refuses long ones, and that would end saving for everybody.
  static let maxKeySize = 1_024

  /// Whether every database takes a key: PostgreSQL refuses U+0000 in texts, too.
  static func canHave(key: String) -> Bool {
    key.utf8.count <= maxKeySize && !key.utf8.contains(0)
  }
}

/// The value of a row, which is encoded outside of locks when it is written.
protocol CompanionValue: Sendable {
  /// Names the value in errors.
  var description: String { get }

  func encoded(by encoder: CompanionEncoder) throws -> Data
}

/// The means to encode the values of companion rows.
struct CompanionEncoder {
  let encode: (any Encodable) throws -> Data
  /// The name under which actions of a type are saved; nil if that is the type's Swift name.
  let name: (any ActionType.Type) -> String?
  /// Called for a value of the user's that can't be encoded.
  let report: (_ description: String, _ error: any Error) -> Void
}
