/// An observer of one element; the hub of its collection knows it, not the store.
///
/// Without the element's type, so that no generic type is looked up for each change.
@usableFromInline
class ElementObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  private let body: @Sendable (KeptElementChange) -> Void
  private let kept = Mailbox<KeptElementChange>()

  init(on queue: ObserverQueue?, _ body: @escaping @Sendable (KeptElementChange) -> Void) {
    self.body = body
    super.init(on: queue)
  }

  /// One that is called neither by the notifier nor on a queue: a subclass keeps changes, and schedules calls.
  init() {
    body = { _ in }
    super.init(isInTurn: false)
  }

  /// Keeps a change of its element; whether a call is to be scheduled.
  ///
  /// - Parameter commit: The one that has made it; nil for the present element.
  func keep(
    _ change: KeptElementChange, of commit: CommitInProgress?, _ due: inout KeptCommit
  ) -> Bool {
    kept.put(change) && !isInTurn
  }

  /// The hub has one notice for each change kept, in the same order.
  final override func notify(of change: ObservedChange) {
    _ = callWithNext()
  }

  final override func callWithNext() -> Bool {
    yieldPoint(.callObserver)
    guard let change = kept.take() else { return false }
    if mayCall { body(change) }
    return true
  }
}

/// The same with the element as it knows it.
@usableFromInline
class TypedElementObserver<Value: Sendable>: ElementObserver, @unchecked Sendable {
  // because its superclass is, and because the store's lock guards what changes
  /// The element as the observer knows it once it has got all changes.
  @exclusivity(unchecked) @usableFromInline final var last: Value?
  /// The last commit of which it has kept a change.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0

  /// One of a subclass, as there.
  override init() {
    super.init()
  }

  /// One that the notifier calls.
  @usableFromInline
  init(_ body: @escaping @Sendable (KeptElementChange) -> Void) {
    super.init(on: nil, body)
  }

  @usableFromInline
  init(
    on delivery: ObserverDelivery, _ body: @escaping @Sendable (KeptElementChange) -> Void
  ) {
    super.init(on: ObserverQueue(delivery), body)
  }

  @usableFromInline
  init(onMain body: @escaping @MainActor @Sendable (KeptElementChange) -> Void) {
    super.init(on: .main, ObserverQueue.onMain(body))
  }
}

/// A change that an observer or a stream of an element keeps, without the element's type.
@usableFromInline
class KeptElementChange: StreamedElement, @unchecked Sendable {
  // because its superclass is, and it is constant too
  @usableFromInline
  override init() {}
}

/// The same with its types.
@usableFromInline
final class TypedElementChange<Element: Sendable, Action: ActionType>: KeptElementChange,
  @unchecked Sendable
{
  // because its superclass is, and it is constant too
  @usableFromInline let change: ElementChange<Element, Action>

  @inlinable
  init(_ change: ElementChange<Element, Action>) {
    self.change = change
    super.init()
  }
}
