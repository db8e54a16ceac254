/// An observer of one element, registered with its collection's hub and not with the store.
///
/// Independent of the element's type, so that changes need no lookup of a generic type.
@usableFromInline
class ElementObserver: ObserverRecord, @unchecked Sendable {
  // because its superclass is
  private let body: @Sendable (KeptElementChange) -> Void
  private let kept = Mailbox<KeptElementChange>()

  init(on queue: ObserverQueue?, _ body: @escaping @Sendable (KeptElementChange) -> Void) {
    self.body = body
    super.init(on: queue)
  }

  /// Makes an observer without delivery; its subclass keeps changes, and schedules calls.
  init() {
    body = { _ in }
    super.init(isInTurn: false)
  }

  /// Keeps a change of the element; returns whether to schedule a call.
  ///
  /// - Parameter commit: The commit that made the change; nil for the current element.
  func keep(
    _ change: KeptElementChange, of commit: CommitInProgress?, _ due: inout KeptCommit
  ) -> Bool {
    kept.put(change) && !isInTurn
  }

  /// Delivers the next change; the hub has one notice for each change kept, in the same order.
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

/// An observer of one element that knows the element's type and last value.
@usableFromInline
class TypedElementObserver<Value: Sendable>: ElementObserver, @unchecked Sendable {
  // because its superclass is, and because the store's lock guards the mutable state
  /// The element as of the last change kept.
  @exclusivity(unchecked) @usableFromInline final var last: Value?
  /// The last commit of which a change was kept.
  @exclusivity(unchecked) @usableFromInline final var version: UInt64 = 0

  /// Makes an observer without delivery, for a subclass.
  override init() {
    super.init()
  }

  /// Makes an observer that the notifier calls.
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

/// A change of an element, with its types.
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
