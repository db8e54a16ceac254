import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// As many actions as the queue is wide in the end, each of whose blocks keeps its thread until all have begun.
  static let widening = Scenario(
    name: "widening", summary: "a queue that is widened begins at once what it has places for"
  ) { dispatcher in
    let isUsers = dispatcher.simulation?.draw(below: 2) == 1
    let other =
      isUsers
      ? dispatcher.simulation?.makeDispatcher(name: "other", queue: OperationQueue()) : nil
    let subject = other ?? dispatcher
    let width = 3
    subject.queue.maxConcurrentOperationCount = 1
    let begun = Shared(0)
    subject.register(
      store: Store<Journal, Meet>(identifier: "place", reducer: MeetReducer(begun, width)))
    async let first = subject.dispatch(action: Meet(number: 1)).result
    async let second = subject.dispatch(action: Meet(number: 2)).result
    async let third = subject.dispatch(action: Meet(number: 3), mode: .serial(lane: "x")).result
    async let widened: Void = { subject.queue.maxConcurrentOperationCount = width }()
    await widened
    for result in await [first, second, third] { try check(result.isSuccess, "\(result)") }
    try check(begun.now == width, "\(begun.now) have begun")
  }
}

private struct Meet: ActionType {
  let number: Int
}

/// Its blocks end once so many have begun.
private final class MeetReducer: Reducer<Journal, Meet> {
  private let begun: Shared<Int>
  private let count: Int

  init(_ begun: Shared<Int>, _ count: Int) {
    (self.begun, self.count) = (begun, count)
  }

  override func operation(
    for action: Meet, in store: Store<Journal, Meet>
  ) -> ActionOperation<Journal, Meet> {
    let (begun, count) = (begun, count)
    return ActionOperation(action: action, store: store) { _, store in
      begun.with { $0 += 1 }
      // Each read lets other threads run.
      while begun.now < count { _ = store.model }
    }
  }
}
