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

  /// Keeps a change of its element; whether a call is to be scheduled on its queue.
  final func keep(_ change: KeptElementChange) -> Bool {
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
final class TypedElementObserver<Value: Sendable>: ElementObserver, @unchecked Sendable {
  // because its superclass is, and because the store's lock guards what changes
  /// The element as the observer knows it once it has got all changes.
  @exclusivity(unchecked) @usableFromInline var last: Value?
  /// The last commit of which it has kept a change.
  @exclusivity(unchecked) @usableFromInline var version: UInt64 = 0

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

/// A change that an observer of an element keeps, without the element's type.
@usableFromInline
class KeptElementChange: @unchecked Sendable {
  // because it is constant
  @usableFromInline
  init() {}
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
