import BenchmarkSupport
import Dispatch
import DispatchStore

/// What a change costs that a task gets through a stream.
enum StreamRows {
  static let all = [change, model]

  /// A thread dispatches plain reductions with `.sync`, and a task takes the change of each.
  ///
  /// The floor: the same reduction under a lock, and an `AsyncStream` to which the thread yields a number.
  private static let change = Row(
    "a change through a stream to a task", floor: "a lock and AsyncStream", bound: .times(2)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let changes = fixture.store.stream(.part(\.count), buffering: .unbounded)
    return Rounds.alternate(rounds, count: 10_000, floor: floor) { count in
      consume(changes, count) {
        for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
      }
    }
  }

  /// A reduction of a store with a stream of its models, of which a task takes the newest as fast as it can.
  private static let model = Row(
    "`.sync`, a stream of the newest model", floor: "a lock and AsyncStream", bound: .times(1.5)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    return Rounds.alternate(rounds, count: 10_000, floor: floor) { count in
      let consumer = Task.detached { for await _ in fixture.store.stream(.model, initial: true) {} }
      for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
      consumer.cancel()
    }
  }

  private static func floor(_ count: Int) {
    let counter = LockedCounter()
    let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
    consume(numbers, count) {
      for index in 0..<count {
        counter.reduce(Add(index))
        continuation.yield(index)
      }
    }
  }

  /// Lets a task take so many elements while a closure makes them; until both have ended.
  private static func consume<Elements: AsyncSequence & Sendable>(
    _ elements: Elements, _ count: Int, _ produce: () -> Void
  ) where Elements.Failure == Never {
    let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Task.detached {
      var iterator = elements.makeAsyncIterator()
      begun.signal()
      for _ in 0..<count { _ = await iterator.next(isolation: nil) }
      done.signal()
    }
    begun.wait()
    produce()
    done.wait()
  }
}
