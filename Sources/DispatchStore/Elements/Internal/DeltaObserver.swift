/// An observer of a collection's deltas; subclasses decide what becomes of each.
class DeltaObserver<Model: Sendable, Elements: KeyedCollection & Sendable>: ObserverRecord,
  @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because its superclass is, and because the store's lock guards `reader`
  typealias Delta = KeyedDelta<Elements.ElementKey, Elements.ElementValue>

  private let equality = ElementEquality<Elements.ElementValue>()
  private var reader: DeltaReader<Model, Elements>

  /// - Parameter isNotified: Whether the notifier calls it, where it has no queue.
  init(
    _ path: any KeyPath<Model, Elements> & Sendable, on queue: ObserverQueue?,
    isNotified: Bool = true
  ) {
    reader = DeltaReader(path, equality)
    if queue == nil, !isNotified { super.init(isNotified: false) } else { super.init(on: queue) }
  }

  /// Begins with the present content; called in the exclusive section.
  ///
  /// - Returns: Whether a call is to be scheduled.
  final func begin(_ model: UnsafeRawPointer, version: UInt64, isInitial: Bool) -> Bool {
    let delta = reader.begin(model, version: version)
    return isInitial && receive(delta, equality) && !isNotified
  }

  /// It is cancelled; called in the exclusive section.
  final func end(_ model: UnsafeRawPointer) {
    reader.end(model)
  }

  final override func keep(_ commit: CommitInProgress) -> Bool {
    reader.readDelta(of: commit).map { receive($0, equality) } ?? false
  }

  /// Keeps a delta, in the exclusive section; whether a call is to be scheduled.
  func receive(_ delta: Delta, _ equality: ElementEquality<Elements.ElementValue>) -> Bool {
    fatalError("DeltaObserver is abstract.")
  }
}

/// One that the notifier calls with the delta of each commit.
final class InlineDeltaObserver<Model: Sendable, Elements: KeyedCollection & Sendable>:
  DeltaObserver<Model, Elements>, @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because its superclass is
  private let body: @Sendable (Delta) -> Void
  private let kept = Locked(FIFO<Delta>())

  init(
    _ path: any KeyPath<Model, Elements> & Sendable, _ body: @escaping @Sendable (Delta) -> Void
  ) {
    self.body = body
    super.init(path, on: nil)
  }

  override func receive(
    _ delta: Delta, _ equality: ElementEquality<Elements.ElementValue>
  ) -> Bool {
    kept.withLock { $0.append(delta) }
    return false
  }

  override func notify(of change: ObservedChange) {
    while let delta = nextDelta(upTo: change.version) {
      if mayCall { body(delta) }
    }
  }

  private func nextDelta(upTo version: UInt64) -> Delta? {
    kept.withLock { kept in
      guard let first = kept.first, first.versions.upperBound <= version else { return nil }
      return kept.popFirst()
    }
  }
}

/// One that is called on a queue, with one delta for all commits since its last call.
final class QueuedDeltaObserver<Model: Sendable, Elements: KeyedCollection & Sendable>:
  DeltaObserver<Model, Elements>, @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because its superclass is
  private let body: @Sendable (Delta) -> Void
  private let kept = DeltaBuffer<Elements.ElementKey, Elements.ElementValue>()
  /// After so many calls it leaves its queue to others.
  private static var batch: Int { 64 }

  init(
    _ path: any KeyPath<Model, Elements> & Sendable, on queue: ObserverQueue,
    _ body: @escaping @Sendable (Delta) -> Void
  ) {
    self.body = body
    super.init(path, on: queue)
  }

  override func receive(
    _ delta: Delta, _ equality: ElementEquality<Elements.ElementValue>
  ) -> Bool {
    kept.put(delta, equality)
  }

  override func callOnQueue() -> Bool {
    for _ in 0..<Self.batch where !callWithNext() { return false }
    return true
  }

  private func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let delta = kept.take() else { return false }
    if mayCall, !delta.isEmpty { body(delta) }
    return true
  }
}

/// One whose consumer takes deltas when it comes to that: for sequences of deltas.
///
/// Holds one delta at most: all that was committed since the consumer took the last one.
final class DeltaFeed<Model: Sendable, Elements: KeyedCollection & Sendable>:
  DeltaObserver<Model, Elements>, @unchecked Sendable
where Elements.ElementKey: Sendable, Elements.ElementValue: Sendable {
  // because its superclass is
  private let onAvailable: @Sendable () -> Void
  private let kept = DeltaBuffer<Elements.ElementKey, Elements.ElementValue>()

  /// - Parameter onAvailable: Called once after each `take()` that returned nil, and at the beginning, when there is
  ///   a delta: on a thread that has committed, outside the store's lock. It is quick, and runs no user code.
  init(
    _ path: any KeyPath<Model, Elements> & Sendable, onAvailable: @escaping @Sendable () -> Void
  ) {
    self.onAvailable = onAvailable
    super.init(path, on: nil, isNotified: false)
  }

  /// The net effect of all commits since the last call; nil where there is none.
  func take() -> Delta? {
    while let delta = kept.take() {
      if !delta.isEmpty { return delta }
    }
    return nil
  }

  override func receive(
    _ delta: Delta, _ equality: ElementEquality<Elements.ElementValue>
  ) -> Bool {
    kept.put(delta, equality)
  }

  override func scheduleCall() {
    if !isCancelled { onAvailable() }
  }
}
