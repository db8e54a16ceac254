import DispatchStore
import DispatchStoreTesting

/// Opens a latch when a dispatch ends.
final class EndNotice: Middleware {
  private let ended: Latch

  init(_ ended: Latch) {
    self.ended = ended
  }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) { ended.open() }
}
