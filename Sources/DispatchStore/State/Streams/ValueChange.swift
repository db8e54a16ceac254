/// A commit in a stream of changes: its action, and a value before and after it.
public struct ValueChange<Value: Sendable, Action: ActionType>: Sendable {
  /// The value after the previous change.
  ///
  /// In an initial element, which is the current state, equal to `new`.
  public let old: Value
  /// The value after the commit.
  public let new: Value
  /// The number of the commit, counted from 1.
  ///
  /// The state that a store began with is 0.
  public let version: UInt64
  /// The action that the dispatch ran, or that was passed to `inject`.
  ///
  /// Nil if there was none, and for an initial element.
  public let action: Action?
  /// The dispatch that made the commit.
  ///
  /// Nil for a commit outside of dispatches, and for an initial element.
  public let dispatchID: DispatchID?

  /// Makes a change, for tests of code that consumes changes.
  public init(
    old: Value, new: Value, version: UInt64, action: Action?, dispatchID: DispatchID? = nil
  ) {
    (self.old, self.new, self.version) = (old, new, version)
    (self.action, self.dispatchID) = (action, dispatchID)
  }
}

extension ValueChange: Equatable where Value: Equatable, Action: Equatable {}
