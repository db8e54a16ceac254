/// A value that the first store of an atomic action takes, when all of them are locked, so that none commits in between.
final class TakenOnce<Value: Sendable>: Sendable {
  private let take: @Sendable () -> Value
  private let present = Locked<Value?>(nil)

  init(_ take: @escaping @Sendable () -> Value) { self.take = take }

  /// The value; nil before it is taken.
  var taken: Value? { present.withLock(\.self) }

  /// The value, which is taken now if it was not before.
  var value: Value {
    present.withLock { present in
      if let present { return present }
      let value = take()
      present = .some(value)
      return value
    }
  }
}
