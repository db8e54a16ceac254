/// Opens a latch when it is released: a model that holds it tells when its store is gone.
final class DeinitSignal: Sendable {
  private let latch: Latch

  init(_ latch: Latch) {
    self.latch = latch
  }

  deinit {
    latch.open()
  }
}
