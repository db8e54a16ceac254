/// An observer of whole models that the notifier calls.
@usableFromInline
final class ModelObserver: ObserverRecord, @unchecked Sendable {  // because its superclass is
  private let body: @Sendable (ObservedChange) -> Void

  @usableFromInline
  init(_ body: @escaping @Sendable (ObservedChange) -> Void) {
    self.body = body
    super.init(isInTurn: true)
  }

  override var needsModel: Bool { true }

  override func notify(of change: ObservedChange) {
    if mayCall { body(change) }
  }
}
