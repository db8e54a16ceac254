import DispatchStore
import Foundation

extension Scenario {
  /// An action that waits for later dispatches of tasks takes the queue's width of one.
  static let substitutes = Scenario(
    name: "substitutes", summary: "substitutes run what a full queue waits for"
  ) { dispatcher in
    dispatcher.queue.maxConcurrentOperationCount = 1
    let store = dispatcher.makeJournal("journal")
    dispatcher.makeStore("inner", of: Nested.self) { $0.operation(in: $1) }
    dispatcher.makeStore("deep", of: Deep.self) { $0.operation(in: $1) }
    async let first = dispatcher.dispatch(action: Deep.blocking(1)).result
    async let second = dispatcher.dispatch(action: Deep.blocking(2), mode: .serial(lane: "x"))
      .result
    for result in await [first, second] { try check(result.isSuccess, "\(result)") }
    try check(store.model.entries.sorted() == [1, 2], "\(store.model.entries)")
  }
}
