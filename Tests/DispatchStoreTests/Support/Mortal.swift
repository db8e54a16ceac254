/// Calls a closure when it is released: held by a model, when the store is gone.
final class Mortal: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
  }

  convenience init(_ latch: Latch) {
    self.init { latch.open() }
  }

  convenience init(_ deaths: EventCount) {
    self.init { deaths.add() }
  }

  deinit {
    body()
  }
}
