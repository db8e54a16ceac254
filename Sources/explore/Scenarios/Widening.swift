import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// In each round, as many actions as the queue is wide in the end, each of whose blocks keeps its thread until all have begun.
  static let widening = Scenario(
    name: "widening", summary: "a queue that is widened begins at once what it has places for"
  ) { dispatcher in
    let isUsers = dispatcher.simulation?.draw(below: 2) == 1
    let other =
      isUsers
      ? dispatcher.simulation?.makeDispatcher(name: "other", queue: OperationQueue()) : nil
    let subject = other ?? dispatcher
    let width = 3
    let begun = Shared(0)
    subject.register(
      store: Store<Journal, Meet>(identifier: "place", reducer: MeetReducer(begun)))
    for round in 1...3 {
      subject.queue.maxConcurrentOperationCount = 1
      let all = round * width
      async let first = subject.dispatch(action: Meet(all: all)).result
      async let second = subject.dispatch(action: Meet(all: all)).result
      async let third = subject.dispatch(action: Meet(all: all), mode: .serial(lane: "x")).result
      async let widened: Void = { subject.queue.maxConcurrentOperationCount = width }()
      await widened
      for result in await [first, second, third] { try check(result.isSuccess, "\(result)") }
      try check(begun.now == all, "\(begun.now) have begun")
    }
  }
}

private struct Meet: ActionType {
  /// How many have begun once all of its round have.
  let all: Int
}

/// Blocks that end once as many have begun as their actions say.
private final class MeetReducer: Reducer<Journal, Meet> {
  private let begun: Shared<Int>

  init(_ begun: Shared<Int>) {
    self.begun = begun
  }

  override func operation(
    for action: Meet, in store: Store<Journal, Meet>
  ) -> ActionOperation<Journal, Meet> {
    ActionOperation(action: action, store: store) { [begun] action, store in
      begun.with { $0 += 1 }
      // Each read lets other threads run.
      while begun.now < action.all { _ = store.model }
    }
  }
}
