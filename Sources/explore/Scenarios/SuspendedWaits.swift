import DispatchStore
import Foundation

extension Scenario {
  /// Blocks that wait for each other's dispatches while the queue is suspended and resumed.
  static let suspendedWaits = Scenario(
    name: "suspended-waits", summary: "what a thread waits for runs once the queue is resumed"
  ) { dispatcher in
    dispatcher.queue.maxConcurrentOperationCount = 1
    let (first, second) = (Shared([Int]()), Shared([Int]()))
    let other = dispatcher.makeVisitors(first, second)
    async let control: Void = {
      for _ in 0..<2 {
        dispatcher.queue.isSuspended = true
        dispatcher.queue.isSuspended = false
      }
    }()
    async let one = dispatcher.dispatch(action: Visit.blocks(1)).result
    async let two = dispatcher.dispatch(action: Visit.blocksHere(2)).result
    async let three = other.dispatch(action: Visit.waits(3), mode: .serial(lane: "x")).result
    for result in await [one, two, three] { try check(result.isSuccess, "\(result)") }
    await control
    let (here, there) = (first.now, second.now)
    try check(here.sorted() == [1, 2, 12, 13], "here: \(here)")
    try check(there.sorted() == [3, 11], "there: \(there)")
    for dispatcher in [dispatcher, other] { dispatcher.unregister(storeIdentifier: "here") }
    other.unregister(storeIdentifier: "there")
  }
}
