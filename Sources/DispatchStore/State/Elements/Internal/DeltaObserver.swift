/// An observer of a collection's deltas; subclasses decide how to keep and deliver each.
@usableFromInline
class DeltaObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  final let work: DeltaWork

  init(_ work: DeltaWork, on queue: ObserverQueue?) {
    self.work = work
    super.init(on: queue)
  }

  init(_ work: DeltaWork, isInTurn: Bool) {
    self.work = work
    super.init(isInTurn: isInTurn)
  }

  /// Begins with the current content; called in the exclusive section.
  ///
  /// - Returns: Whether to schedule a call.
  final func begin(_ model: UnsafeRawPointer, version: UInt64, isInitial: Bool) -> Bool {
    let delta = work.begin(model, version)
    return isInitial && receive(delta)
  }

  /// Ends the observation; called in the exclusive section.
  final func end(_ model: UnsafeRawPointer) {
    work.end(model)
  }

  override func keep(_ commit: CommitInProgress, _ kept: inout KeptCommit) {
    guard let delta = work.read(commit), receive(delta), !isInTurn else { return }
    kept.schedule(self)
  }

  /// Keeps a delta, in the exclusive section; returns whether to schedule a call.
  func receive(_ delta: KeptDelta) -> Bool {
    fatalError("DeltaObserver is abstract.")
  }
}

/// An observer that the notifier calls with the delta of each commit.
@usableFromInline
final class InlineDeltaObserver: DeltaObserver, @unchecked Sendable {
  // because its superclass is
  private let body: @Sendable (KeptDelta) -> Void
  private let kept = Mailbox<KeptDelta>()

  @usableFromInline
  init(_ work: DeltaWork, _ body: @escaping @Sendable (KeptDelta) -> Void) {
    self.body = body
    super.init(work, on: nil)
  }

  override func receive(_ delta: KeptDelta) -> Bool {
    kept.put(delta)
  }

  override func notify(of change: ObservedChange) {
    yieldPoint(.callObserver)
    while let delta = kept.take(where: { $0.version <= change.version }) {
      if mayCall { body(delta) }
    }
  }
}

/// An observer that is called on a queue, with one delta for all commits since its last call.
@usableFromInline
final class QueuedDeltaObserver: DeltaObserver, @unchecked Sendable {
  // because its superclass is
  private let body: @Sendable (KeptDelta) -> Void
  private let kept = DeltaBuffer()

  @usableFromInline
  init(
    _ work: DeltaWork, on delivery: ObserverDelivery,
    _ body: @escaping @Sendable (KeptDelta) -> Void
  ) {
    self.body = body
    super.init(work, on: ObserverQueue(delivery))
  }

  @usableFromInline
  init(_ work: DeltaWork, onMain body: @escaping @MainActor @Sendable (KeptDelta) -> Void) {
    self.body = ObserverQueue.onMain(body)
    super.init(work, on: .main)
  }

  override func receive(_ delta: KeptDelta) -> Bool {
    kept.put(delta, work.merge)
  }

  override func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let delta = kept.take() else { return false }
    if mayCall, !delta.isEmpty { body(delta) }
    return true
  }
}
