/// Opens a latch when it is released: held by a model, when the store is gone.
final class DeinitSignal: Sendable {
  private let latch: Latch

  init(_ latch: Latch) {
    self.latch = latch
  }

  deinit {
    latch.open()
  }
}
