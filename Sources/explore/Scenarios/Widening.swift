import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// In each round, as many actions as the queue is wide in the end, each of whose blocks keeps its thread until all have begun.
  static let widening = Scenario(
    name: "widening", summary: "a queue that is widened begins at once what it has places for"
  ) { dispatcher, simulation in
    let isUsers = simulation.draw(below: 2) == 1
    let subject =
      isUsers ? simulation.makeDispatcher(name: "other", queue: OperationQueue()) : dispatcher
    let width = 3
    let begun = Shared(0)
    // A block ends once as many have begun as its action says.
    subject.makeStore("place", of: Meet.self) { action, store in
      ActionOperation(action: action, store: store) { action, store in
        begun.with { $0 += 1 }
        // Each read lets other threads run.
        while begun.now < action.all { _ = store.model }
      }
    }
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
